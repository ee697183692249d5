"""What a run found, for people: one page with figures and tables, and texts for a model's card.

Matplotlib and Jinja2 (``pip install 'reticent[report]'``) are loaded with the first page.
"""

from reticent.report.writing import page, write_report

__all__ = ["page", "write_report"]

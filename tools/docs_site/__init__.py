"""The documentation as a site: ``make site``, or ``python -m tools.docs_site --help``.

The pages of the repository and an API reference made from docstrings become build/site, which
opens from a disk without network. A broken link, anchor or docstring ends the command with 1.
"""

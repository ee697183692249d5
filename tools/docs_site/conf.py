"""Settings of Sphinx for ``make site``."""

import tomllib
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _PROJECT["name"]
author = "The reticent developers"
copyright = author
release = version = _PROJECT["version"]
language = "en"

extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # docs/cli.md is generated and begins where it likes

# Names of the package must lead somewhere; types in signatures may be anybody's.
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*"), ("py:exc", ".*")]
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses on a disk
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": False}

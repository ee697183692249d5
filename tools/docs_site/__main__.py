"""``python -m tools.docs_site``: stage, build, check links. 0 where nothing is broken."""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.docs_site.links import broken_in_site
from tools.docs_site.markdown_links import broken_in_pages
from tools.docs_site.staging import stage

ROOT = Path(__file__).resolve().parent.parent.parent
FIRST_PAGE = '<!doctype html><meta charset="utf-8"><title>reticent</title>\
<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">reticent</a>\n'


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site; print what is broken."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs_site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    out = parser.parse_args(arguments).out.resolve()
    wrong = broken_in_pages(ROOT)
    if not wrong:
        code = build(ROOT, out)
        if code:
            return code
        wrong = broken_in_site(out)
    for line in wrong:
        print(line)
    if not wrong:
        print(f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages, no broken link")
    return 1 if wrong else 0


def build(root: Path, out: Path) -> int:
    """Stage and run Sphinx, whose warnings are errors; its exit code."""
    staged = out.parent / f"{out.name}-pages"
    stage(root, staged)
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "--builder", "html"]
    command += ["--conf-dir", str(Path(__file__).parent), "--doctree-dir", str(staged / ".trees")]
    code = subprocess.run([*command, str(staged), str(out)], check=False).returncode
    if code == 0:
        (out / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())

"""A stranger who knows the field's words finds the page or the module that they belong to.

The search is the one anybody does: letters in any case, over the pages and over the docstrings and
comments of the sources. Where the glossary has the word, the pages that its entry links to count.
"""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # all sources are read token by token

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
LINK = re.compile(r"\]\(([^)#\s]*)(?:#[^)\s]*)?\)")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# Any of these prefixes will do: rooms are renamed, words are not.
PLACES = {
    "adjacency": ("docs/theory.md", "src/reticent/neighbours"),
    "amplification": ("docs/theory.md", "src/reticent/accounting"),
    "atomic write": ("docs/architecture.md", "src/reticent/files"),
    "calibration": ("docs/guide/noise.md", "src/reticent/accounting"),
    "canary": ("docs/guide/claims.md", "src/reticent/audit"),
    "certificate": ("docs/tutorials/reviewer.md", "src/reticent/protect"),
    "clipping": ("docs/theory.md", "src/reticent/training"),
    "composition": ("docs/theory.md", "src/reticent/guarantee", "src/reticent/accounting"),
    "gradient clipping": ("docs/theory.md", "src/reticent/protect", "src/reticent/training"),
    "group privacy": ("docs/pitfalls.md", "src/reticent/guarantee"),
    "membership inference": ("docs/guide/attack.md", "src/reticent/attacks"),
    "model card": ("docs/tutorials/engineer.md", "src/reticent/report"),
    "neighbouring data sets": ("docs/theory.md", "src/reticent/neighbours"),
    "odometer": ("docs/theory.md", "src/reticent/ledger"),
    "per-example gradients": ("docs/refutations.md", "docs/theory.md", "src/reticent/training"),
    "privacy filter": ("docs/theory.md", "src/reticent/ledger"),
    "sensitivity": ("docs/theory.md", "docs/guide/sensitivities.md", "src/reticent/bounds"),
    "shadow model": ("docs/guide/attack.md", "src/reticent/attacks"),
    "subsampling": ("docs/theory.md", "src/reticent/accounting"),
    "user-level privacy": ("docs/theory.md", "docs/guide/release.md", "docs/cli.md"),
    "weight decay": ("docs/theory.md", "src/reticent/training"),
}


def prose_of(source):
    """Docstrings and comments of a source text; no code and no other texts."""
    tree = ast.parse(source)
    yield from (
        ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, DOCUMENTED)
    )
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@cache
def texts():
    """What is searched: each page and module by its path, its words with single spaces between."""
    found = {page: page.read_text(encoding="utf-8") for page in ROOT.glob("docs/**/*.md")}
    for module in ROOT.glob("src/**/*.py"):
        found[module] = "\n".join(prose_of(module.read_text(encoding="utf-8")))
    return {path: " ".join(text.split()).lower() for path, text in found.items()}


@cache
def entries():
    """The entries of the glossary, each with the pages that it links to."""
    _, *sections = re.split(r"^## ", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        section.partition("\n")[0]: (
            " ".join(section.split()).lower(),
            {
                (GLOSSARY.parent / (target or GLOSSARY.name)).resolve()
                for target in LINK.findall(section)
            },
        )
        for section in sections
    }


def reached(word):
    """Paths that hold the word, and those that an entry of the glossary with the word links to."""
    word = word.lower()
    paths = {path for path, text in texts().items() if word in text}
    for text, linked in entries().values():
        if word in text:
            paths |= linked
    return {path.relative_to(ROOT).as_posix() for path in paths} - {"docs/glossary.md"}


@pytest.mark.parametrize("word", PLACES)
def test_a_word_of_the_field_leads_to_its_place(word):
    assert [path for path in sorted(reached(word)) if path.startswith(PLACES[word])]


@pytest.mark.parametrize("word", PLACES)
def test_a_word_of_the_field_stands_in_the_documentation(word):
    assert any(word in text for path, text in texts().items() if ROOT / "docs" in path.parents)


@pytest.mark.parametrize("term", entries())
def test_an_entry_of_the_glossary_leads_on(term):
    _, linked = entries()[term]
    assert linked
    assert all(path.exists() for path in linked)


def test_a_word_that_is_nowhere_is_not_found():
    assert reached("homeopathic dilution") == set()


def test_code_and_other_texts_are_not_searched():
    source = '"""One."""\nTWO = "three"  # Four\n\n\ndef five():\n    """Six."""\n'
    assert list(prose_of(source)) == ["One.", "Six.", "# Four"]

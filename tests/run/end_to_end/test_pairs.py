"""Neighbouring files through every command and function that prints *proven*: none moves too far.

600 pairs here, and more than 10,000 by ``make audits``. A bound that holds is never exceeded, so
these tests have no false alarms.
"""

import ast
import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest

import reticent.protect
from reticent.audit.end_to_end.pairs import RELATIONS, UNITS, audit_pair, combinations
from reticent.audit.end_to_end.table import FORMATS
from reticent.protect import RECIPES, contrastive_run, network_run, noisy_query
from reticent.run.every_release import WHOLE_JOB, every_release

PAIRS = 2
EVERY_RELEASE = every_release()
NORMAL = [name for name, audited in EVERY_RELEASE.items() if not audited.hostile]


MINT = "reticent.protect.noisy_query.minted"


def names_of(path):
    """Every name of another module that a file can use, and what it is called there.

    ``from module import name``, ``import module`` and a module's attribute alike, on one line or
    many.
    """
    imported = {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imported |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            imported |= {one.asname or one.name: one.name for one in node.names}
    found = {full: name for name, full in imported.items()}
    for node in ast.walk(tree):
        parts = ast.unparse(node).split(".") if isinstance(node, ast.Attribute) else []
        for length in range(1, len(parts)):
            owner = ".".join(parts[:length])
            if owner in imported:
                full = ".".join((imported[owner], *parts[length:]))
                found[full] = ".".join(parts)
    return found


def modules_that_mint(folder=Path(reticent.protect.__file__).parent):
    """All of ``protect`` that can grade a claim proven, each with its own name for the function."""
    return {
        ".".join(("reticent.protect", *path.relative_to(folder).with_suffix("").parts)): found[MINT]
        for path in folder.rglob("*.py")
        if MINT in (found := names_of(path))
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from reticent.protect.noisy_query import minted", "minted"),
        ("from reticent.protect.noisy_query import (\n    is_minted,\n    minted as m,\n)", "m"),
        ("from reticent.protect import noisy_query\nnoisy_query.minted(1)", "noisy_query.minted"),
        (
            "def f():\n    from reticent.protect import noisy_query as q\n    q.minted(1)",
            "q.minted",
        ),
        (
            "import reticent.protect.noisy_query\nreticent.protect.noisy_query.minted(1)",
            "reticent.protect.noisy_query.minted",
        ),
        ("from reticent.protect.noisy_query import is_minted", None),
        ("from reticent.protect import noisy_query\nnoisy_query.is_minted(1)", None),
    ],
)
def test_every_way_to_import_what_mints_is_seen(tmp_path, text, name):
    (tmp_path / "new.py").write_text(text)
    expected = {} if name is None else {"reticent.protect.new": name}
    assert modules_that_mint(tmp_path) == expected


def test_every_recipe_is_audited():
    """Whoever registers a recipe has it audited from that day on."""
    assert set(RECIPES) <= set(EVERY_RELEASE)


def test_every_module_that_mints_is_audited(monkeypatch):
    """A new place that mints is gone through by an audited release, or this test is red."""
    reached, minting = set(), modules_that_mint()
    for name, called in minting.items():
        module = importlib.import_module(name)

        def mint(claim, name=name, **since):
            reached.add(name)
            return noisy_query.minted(claim, **since)

        if "." in called:  # by its module: this one reads the module through another
            of = SimpleNamespace(**vars(noisy_query) | {"minted": mint})
            monkeypatch.setattr(module, called.partition(".")[0], of)
        else:
            monkeypatch.setattr(module, called, mint)
    for name in ("weights", "answers", "served answers", "encoder and head"):
        (one, *_) = combinations({name: EVERY_RELEASE[name]})
        assert audit_pair(EVERY_RELEASE[name], one, 0).outcome.queries > 0
    assert reached == set(minting)


def test_nothing_else_imports_what_mints():
    folder = Path(reticent.protect.__file__).parent
    importers = {
        path.name
        for path in folder.rglob("*.py")
        if any("guarantee.minting" in name for name in names_of(path))
    }
    assert importers == {"noisy_query.py"}


def test_combinations_are_all_of_them():
    each = [
        1 if one.replaced_alone else len(RELATIONS) * (1 if one.records_alone else len(UNITS))
        for one in EVERY_RELEASE.values()
    ]
    assert len(combinations(EVERY_RELEASE)) == len(FORMATS) * sum(each)
    assert sum(len(numbers) for name in NORMAL for _, numbers in pairs_of(name)) >= 500


@pytest.fixture
def few_examples(monkeypatch):
    """A network's slots are compared by 8 random records instead of 64, most of an audit's time.

    How many serve the check is no part of what a pair shows, and the check has tests of its own.
    """
    for module in (network_run, contrastive_run):
        monkeypatch.setattr(module, "_EXAMPLES", 8)


def pairs_of(name):
    """Combinations of a release, each with the numbers of its pairs.

    Networks on texts, services and encoders by the command, whose functions stand in the list too,
    take seconds a pair: here one pair of every third combination.
    """
    audited = EVERY_RELEASE[name]
    asked = combinations({name: audited})
    by_command = name.startswith(("pretrain ", "serve "))
    if by_command and audited.replaced_alone:
        return [(asked[0], range(4 * PAIRS))]
    if audited.texts or by_command:
        return [(one, [0]) for one in asked[NORMAL.index(name) % 3 :: 3]]
    return [(one, range(4 * PAIRS if audited.replaced_alone else PAIRS)) for one in asked]


@pytest.mark.slow
@pytest.mark.usefixtures("few_examples")
@pytest.mark.parametrize("name", NORMAL)
def test_no_query_moves_further_than_its_noise_was_made_for(name):
    audited = EVERY_RELEASE[name]
    ratios = []
    for one, numbers in pairs_of(name):
        for number in numbers:
            pair = audit_pair(audited, one, number)
            assert pair.outcome.holds, (one.name, number, pair.family, pair.outcome.problems)
            assert pair.outcome.refused is None, (one.name, number, pair.outcome.refused)
            assert pair.outcome.queries > 0
            ratios.append(pair.outcome.ratio)
    loose = "logit-clipping" in name  # its bound is not reached, docs/theory.md E.10
    assert max(ratios) > (0.1 if loose else 0.4)  # pairs that move nothing test nothing


@pytest.mark.parametrize("name", [name for name in EVERY_RELEASE if name not in NORMAL])
def test_ways_around_the_noise_are_refused(name):
    for one in combinations({name: EVERY_RELEASE[name]}):
        for number in range(PAIRS):
            assert audit_pair(EVERY_RELEASE[name], one, number).outcome.refused


def test_a_pair_is_a_function_of_its_number():
    (one, *_) = combinations({"mean": EVERY_RELEASE["mean"]})
    first, again = (audit_pair(EVERY_RELEASE["mean"], one, 3) for _ in range(2))
    assert first.family == again.family
    assert first.outcome.ratio == again.outcome.ratio


@pytest.mark.slow
def test_the_whole_job_by_its_command():
    ((name, audited),) = WHOLE_JOB.items()
    one = combinations({name: audited})[1]  # persons
    outcome = audit_pair(audited, one, 0, limit=300).outcome
    assert outcome.holds
    assert outcome.refused is None
    assert outcome.queries >= 8  # two draws of each kind, in both worlds the same

"""Neighbouring files through every command and function that prints *proven*: none moves too far.

600 pairs here, and more than 10,000 by ``make audits``. A bound that holds is never exceeded, so
these tests have no false alarms.
"""

import importlib
import re
from pathlib import Path

import pytest

import reticent.protect
from reticent.audit.end_to_end.pairs import RELATIONS, UNITS, audit_pair, combinations
from reticent.audit.end_to_end.table import FORMATS
from reticent.protect import RECIPES, contrastive_run, network_run
from reticent.run.every_release import WHOLE_JOB, every_release

PAIRS = 2
EVERY_RELEASE = every_release()
NORMAL = [name for name, audited in EVERY_RELEASE.items() if not audited.hostile]


def modules_that_mint():
    """All of ``protect`` that import what grades a claim proven."""
    folder = Path(reticent.protect.__file__).parent
    return {
        ".".join(("reticent.protect", *path.relative_to(folder).with_suffix("").parts))
        for path in folder.rglob("*.py")
        if re.search(
            r"^from reticent\.protect\.noisy_query import .*\bminted\b",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }


def test_every_recipe_is_audited():
    """Whoever registers a recipe has it audited from that day on."""
    assert set(RECIPES) <= set(EVERY_RELEASE)


def test_every_module_that_mints_is_audited(monkeypatch):
    """A new place that mints is gone through by an audited release, or this test is red."""
    reached = set()
    for name in modules_that_mint():
        module = importlib.import_module(name)

        def mint(claim, name=name, honest=module.minted, **since):
            reached.add(name)
            return honest(claim, **since)

        monkeypatch.setattr(module, "minted", mint)
    for name in ("weights", "answers", "served answers", "encoder and head"):
        (one, *_) = combinations({name: EVERY_RELEASE[name]})
        assert audit_pair(EVERY_RELEASE[name], one, 0).outcome.queries > 0
    assert reached == modules_that_mint()


def test_nothing_else_imports_what_mints():
    folder = Path(reticent.protect.__file__).parent
    importers = {
        path.name
        for path in folder.rglob("*.py")
        if re.search(
            r"^ *(from|import) .*\bminting\b", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert importers == {"noisy_query.py"}


def test_combinations_are_all_of_them():
    replaced = sum(one.replaced_alone for one in EVERY_RELEASE.values())
    each = len(RELATIONS) * len(UNITS)
    assert len(combinations(EVERY_RELEASE)) == len(FORMATS) * (
        each * len(EVERY_RELEASE) - (each - 1) * replaced
    )
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

    Networks on texts take seconds a pair: here one pair of every third combination.
    """
    audited = EVERY_RELEASE[name]
    asked = combinations({name: audited})
    if audited.texts:
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
    assert outcome.queries > 20

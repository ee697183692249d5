"""The study of audits: a few of its audits, and what its committed file says."""

import dataclasses
import functools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from reticent.audit.end_to_end.adversarial import held_records
from reticent.audit.error_counts import clopper_pearson_epsilon
from reticent.audit.intervals import wrong_too_often
from reticent.audit.release import audit_release
from reticent.audit.same_places import row_keys
from reticent.protect import release_weights
from reticent.protect.recipes.input import lines
from reticent.studies import audits, place_worlds
from reticent.studies.audit_trials import (
    BOTH,
    LEARNERS,
    NETWORK,
    PLACES,
    PURE_LEARNERS,
    TOGETHER,
    WEIGHTS,
    Kind,
    Trial,
    audited,
    head_data,
    learner_worlds,
    neighbours,
)
from reticent.studies.trained import Cells, Run
from reticent.training import SoftmaxHead

SPEC = audits.SPECS["digits"]
NETWORKS = audits.SPECS["network"]
ZERO = audits.SPECS["zero-delta"]
RESULT = Path(__file__).parents[2] / "results" / "audits.json"


@pytest.fixture(scope="module")
def tables():
    return json.loads(RESULT.read_text(encoding="utf-8"))["tables"]


def rows_of(table):
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [*SPEC.kinds, *NETWORKS.kinds], ids=lambda kind: "-".join(map(str, audits._terms(kind)))
)
def test_audits_of_each_proven_release_do_not_refute_it(kind):
    """On digits and on built data; each is wrong once in a million."""
    fewer = dataclasses.replace(kind, runs=200 if kind.runs > 1_000 else 10)
    for place in (0, 1):
        found = audited(Trial(kind=fewer, place=place, beta=1e-6, built=place == 1))
        assert not found["refuted"]
        assert 0 < found["tightness"] <= 1
        assert found["bound"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("what", [WEIGHTS, "class-means", TOGETHER, NETWORK])
def test_the_same_audits_refute_far_too_little_noise(what):
    """A thousandth of the noise: only 16 runs that chose a threshold badly miss it (0.4¹⁶)."""
    relation = "add-remove" if what == NETWORK else BOTH
    kind = Kind(what=what, epsilons=(0.25,), relation=relation, runs=80)
    assert audited(Trial(kind=kind, place=1, beta=0.05, share=1e-3, built=True))["refuted"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ZERO.kinds, ids=lambda kind: f"{kind.what}-{kind.delta:g}")
def test_no_release_without_delta_is_refuted_and_a_thousandth_of_its_noise_is(kind):
    """Each audit is wrong once in a million; of a thousandth, 60 of 80 runs say it at once."""
    fewer = dataclasses.replace(kind, runs=80 if kind.what != "noisy-gradient" else 20)
    found = audited(Trial(kind=fewer, place=1, beta=1e-6, built=True))
    assert not found["refuted"]
    assert 0 < found["tightness"] <= 1
    weak = dataclasses.replace(fewer, epsilons=(0.1,), runs=80)
    assert audited(Trial(kind=weak, place=1, beta=0.01, share=1e-3, built=True))["refuted"]


def test_the_rows_without_delta_are_those_that_can_be_asked():
    named = {(kind.what, kind.delta) for kind in ZERO.kinds}
    assert {("functional-regression", 1e-5), ("functional-regression", 0.0)} <= named
    zero = {what for what, delta in named if delta == 0}
    assert zero == {*LEARNERS, *PLACES, "functional-regression"} - {"objective"}
    half = {part.kind.what for part in ZERO.planted if part.share == 0.5}
    assert half == set(PURE_LEARNERS)


def test_a_study_is_kept_and_goes_on(tmp_path):
    kind = Kind(what=WEIGHTS, runs=100)
    spec = audits.Audits(
        kinds=(kind,),
        planted=(audits.Planted(kind=kind, share=0.5, audits=1),),
        tight=(audits.Tight(data="digits", penalty=1e-1, runs=100),),
        audits=2,
        beta=1e-6,
    )
    told = []
    run = Run(cells=Cells(tmp_path / "cells.json"))
    run.steps.advance = lambda done, whole: told.append((done, whole))
    proven, planted, tight = audits.study(spec, run).tables
    assert told[-1] == (4, 4)
    assert proven.rows[0][:5] == ("weights", "gaussian", "1, 2, 3", "1e-5", "both")
    assert proven.rows[0][5:10] == ("100", "2", "2", "0", "1")
    assert planted.rows[0][5:8] == ("100", "0.5", "1")
    assert tight.rows[0][:2] == ("digits", "1797")
    again = audits.study(spec, Run(cells=Cells(tmp_path / "cells.json"))).tables
    assert again == (proven, planted, tight)  # fresh noise would differ: every cell was kept


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("what", "least"), [("objective", 0.8), ("pate", 0.75), ("input", 0.99), ("functional", 0.9)]
)
def test_built_worlds_move_each_place_as_far_as_the_theorem_allows_or_nearly(what, least, relation):
    """A hundredth of the noise, so that no answer steers the minimum; a thousandth is refuted."""
    kind = Kind(what=what, relation=relation, epsilons=(2.0,), runs=60)
    found = audited(Trial(kind=kind, place=1, beta=1e-6, share=1e-2, built=True))
    assert least <= found["tightness"] <= 1
    true = audited(Trial(kind=kind, place=1, beta=1e-6, built=True))
    assert not true["refuted"]


@pytest.mark.parametrize("place", [1, 3, 17])
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(
    "worlds",
    [
        place_worlds.objective_worlds,
        place_worlds.vote_worlds,
        functools.partial(place_worlds.line_worlds, lines=9),
    ],
)
def test_worlds_of_a_place_are_neighbours(worlds, place, replaced):
    one, other = worlds(place, replaced=replaced)
    mine, theirs = (Counter(row_keys(*world)) for world in (one, other))
    only = (mine - theirs).total(), (theirs - mine).total()
    assert only == ((1, 1) if replaced else (0, 1))


def test_a_record_added_takes_the_line_of_the_one_against_it():
    """Both lie in one line, and the table without the new one has the other in it."""
    (rows, labels), (more, marks) = place_worlds.line_worlds(1, lines=9, replaced=False)
    without, with_it = (
        lines(*world, count=9, classes=2) for world in ((rows, labels), (more, marks))
    )
    assert (without.any(axis=1) == with_it.any(axis=1)).all()
    assert np.linalg.norm(with_it - without) > 0.99 * np.sqrt(6)


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("place", [0, 1, 17])
def test_worlds_are_neighbours(place, replaced, built):
    head = head_data(place, built=built, few_coordinates=True)
    for one, other in (
        learner_worlds(place, built=built, replaced=replaced, targets=False),
        neighbours(head.rows, head.labels, replaced=replaced),
    ):
        mine, theirs = (Counter(row.tobytes() for row in world[0]) for world in (one, other))
        only = (mine - theirs).total(), (theirs - mine).total()
        assert only == ((1, 1) if replaced else (0, 1))


def test_data_differ_from_audit_to_audit():
    seen = {
        head_data(place, built=False, few_coordinates=False).rows.tobytes() for place in range(9)
    }
    assert len(seen) == 9


def test_relations_and_budgets_meet_both_kinds_of_data():
    trials = audits._true_trials(SPEC, Kind(what="lda", epsilons=(2.0, 3.0)))
    met = Counter((trial.relation, trial.built, trial.terms["epsilon"]) for trial in trials)
    assert len(met) == 8
    assert set(met.values()) == {25}


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("mechanism", "delta"), [("gaussian", 1e-5), ("laplace", 0.0)])
def test_built_data_come_close_to_the_worst_case(mechanism, delta, relation):
    """Turned onto all axes, in L1 as in L2; opposed records, under replace-one too."""
    rows, labels = held_records(directions=100, each=10, spread=True)
    head = SoftmaxHead(penalty=1e-3, bound=1.0, classes=range(2), records=1_000, intercept=0.0)
    released = release_weights(
        head.fit(rows, labels), epsilon=1.0, delta=delta, relation=relation, mechanism=mechanism
    )
    found = audit_release(released, rows, labels, runs=100, beta=1e-6, candidates=4)
    assert 0.92 < found.tightness <= 1
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)


def test_no_proven_release_was_refuted_beyond_what_beta_allows(tables):
    rows = rows_of(tables[0])
    assert len(rows) == len(SPEC.kinds)
    for row in rows:
        assert int(row["audits"]) >= 200
        assert not wrong_too_often(int(row["refuted"]), int(row["audits"]), beta=SPEC.beta)
        assert int(row["allowed"]) < int(row["audits"])
    assert {row["release"] for row in rows} >= set(LEARNERS)
    assert {row["noise"] for row in rows} == {"gaussian", "laplace", "logistic", "l2-laplace"}


def test_every_audit_could_have_refuted_its_claim(tables):
    """Runs without an error would do; where even they would not, nothing was tested."""
    for kind in SPEC.kinds:
        counted = kind.runs - round(0.2 * kind.runs)
        best = clopper_pearson_epsilon(0, counted, 0, counted, delta=kind.delta, beta=SPEC.beta)
        assert best.epsilon > 1.25 * max(kind.epsilons)
    assert all(row["able"] == row["audits"] for row in rows_of(tables[0]))


def test_each_release_is_audited_alike_with_too_little_noise():
    assert tuple(part.kind for part in SPEC.planted[: len(SPEC.kinds)]) == SPEC.kinds
    assert all(part.share < 1 for part in SPEC.planted)


def test_a_quarter_of_the_noise_was_refuted_nearly_always(tables):
    rows = rows_of(tables[1])
    quarter = [row for row in rows if row["noise left"] == "0.25"]
    assert {row["release"] for row in quarter} == {WEIGHTS, *LEARNERS}
    for row in quarter:
        assert int(row["refuted"]) >= 0.7 * int(row["audits"])
    for row in rows[: len(SPEC.kinds)]:  # the audits of the first table find something
        assert int(row["refuted"]) > 0


def test_built_data_reach_nineteen_twentieths_of_the_bound(tables):
    built, digits = rows_of(tables[2])
    assert (built["data"], digits["data"]) == ("built", "digits")
    assert 0.95 <= float(built["tightness"]) <= 1
    assert float(digits["tightness"]) < float(built["tightness"])
    assert float(built["measured"]) <= float(built["analytic"]) <= 1


def test_dp_sgd_was_not_refuted_and_half_of_its_noise_was():
    path = RESULT.with_name("audits-network.json")
    proven, planted = json.loads(path.read_text(encoding="utf-8"))["tables"]
    for row in rows_of(proven):
        assert (row["release"], row["able"]) == (NETWORK, row["audits"])
        assert int(row["runs"]) >= 200
        assert not wrong_too_often(int(row["refuted"]), int(row["audits"]), beta=NETWORKS.beta)
    shares = {row["noise left"]: int(row["refuted"]) for row in rows_of(planted)}
    assert set(shares) == {"0.25", "0.5"}
    assert min(shares.values()) > 0


@pytest.mark.parametrize("on", ["places", "pure"])
def test_other_releases_were_not_refuted_and_far_too_little_noise_was(on):
    spec = audits.SPECS[on]
    path = RESULT.with_name(f"audits-{on}.json")
    proven, planted = json.loads(path.read_text(encoding="utf-8"))["tables"]
    assert [row["release"] for row in rows_of(proven)] == [kind.what for kind in spec.kinds]
    for row in rows_of(proven):
        assert int(row["audits"]) >= 200
        assert row["able"] == row["audits"]
        assert not wrong_too_often(int(row["refuted"]), int(row["audits"]), beta=spec.beta)
    for row in rows_of(planted):
        assert int(row["refuted"]) > 0

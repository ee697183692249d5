"""The whole job on a small real data set: the document fits what was done."""

import dataclasses
import math
from functools import cached_property

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.audit import ceiling
from reticent.data import Dataset
from reticent.guarantee import Grade
from reticent.ledger import BudgetExhausted
from reticent.protect import ClassMeansHead, load, verify
from reticent.protect.plan import Situation, plan
from reticent.protect.plan_help import help_sentence
from reticent.protect.release import was_charged
from reticent.results import read_results
from reticent.results.reading import as_read
from reticent.run import RunData, RunSpec, auditing, run_job
from reticent.run.attacking import CANDIDATES, EXACT
from reticent.run.conclusion import allowed_auc, attack_named
from reticent.run.job import Job
from reticent.run.provenance import RANDOM
from reticent.run.stages import OTHER_PLACES, STAGES
from reticent.validation import InputError

PRIVATE, TEST, POOL, OTHERS = 150, 120, 400, 80
EPSILON, DELTA = 1.0, 1e-5


def digits():
    """In random order: writers follow each other in the file, and attacks would tell writers."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(5).permutation(len(X))
    rows = (X[order] / 16 - 0.3).astype(np.float32)
    return Dataset(
        name="digits", source="scikit-learn", inputs=rows, labels=y[order],
        classes=tuple(map(str, range(10))),
    )  # fmt: skip


DIGITS = digits()
PARTS = np.split(np.arange(len(DIGITS)), np.cumsum([PRIVATE, TEST, POOL]))
PRIVATE_ROWS, TEST_ROWS, POOL_ROWS = (DIGITS.take(rows) for rows in PARTS[:3])
SPEC = RunSpec(
    epsilon=EPSILON,
    delta=DELTA,
    relation="add-remove",
    records=PRIVATE,
    bound=2.5,
    epsilons=(EPSILON, 8.0),
    mechanisms=("gaussian",),
    penalties=(1e-4, 1e-2),
    pairs=20,
    sampled=5,
    draws=2,
    shadows=10,
    beta=1e-7,
)
QUICK = dataclasses.replace(
    SPEC, epsilons=(EPSILON,), mechanisms=(), penalties=(1e-4,), audit_runs=2_000
)
"""The recommended learner alone; of heads, where they are asked for, few releases are audited."""


def roles(private=PRIVATE_ROWS, pool=None):
    return dataclasses.replace(RunData.of(private, TEST_ROWS), pool=pool)


def brief_job(*given, **options):
    """A run whose audits look at the fewest transcripts; those of ``finished`` at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auditing, "MOST", auditing.FEWEST)
        return run_job(*given, **options)


def test_attacks_see_as_many_rows_of_others_as_of_members():
    """Members keep each person's first rows, and so do the others; accuracies have all rows."""
    persons = np.arange(TEST) // 3
    named = dataclasses.replace(TEST_ROWS, persons=persons)
    for each, kept in ((1, TEST // 3), (2, 2 * TEST // 3)):
        found = RunData.of(PRIVATE_ROWS, named, max_records_per_person=each)
        assert len(found.others) + len(found.own) == kept
        assert len(found.test) == TEST
    assert max(np.bincount(np.concatenate([found.others.persons, found.own.persons]))) == 2


def test_that_a_run_may_refuse_its_records_stands_among_what_is_stated(finished):
    """Fewer than three records end a run, which is no matter of single records (theory F 1)."""
    proven = [one for one in finished.results.releases if one.claim.grade == "proven"]
    assert proven
    for release in proven:
        assert any("nor that a job on them failed" in line for line in release.claim.stated)


def test_recalls_of_all_classes_make_up_the_accuracy(finished):
    results = finished.results
    for row in (results.unprotected, *results.releases):
        recalls = row.by_class.recalls
        assert sum(one.test for one in recalls) == TEST
        total = sum(one.test * one.recall.value for one in recalls)
        assert total / TEST == pytest.approx(row.accuracy.value)
    kept = results.recommended.kept_by_class
    right = finished.released.predict(TEST_ROWS.features) == TEST_ROWS.labels.astype(str)
    seven = right[TEST_ROWS.labels == 7]
    assert kept.of("7").recall.value == pytest.approx(seven.mean())
    assert results.unprotected.by_class.balanced_loss is None


def test_a_large_loss_says_what_would_help_by_public_numbers(finished):
    """What is said follows from the numbers of the request alone; only whether, from the loss."""
    results = finished.results
    assert results.recommended.loss.value > 0.1  # 150 records of ten classes at ε = 1
    situation = Situation(
        records=PRIVATE, features=64, classes=10, epsilon=EPSILON, delta=DELTA,
        relation="add-remove",
    )  # fmt: skip
    assert results.conclusion.would_help == help_sentence(situation)


def test_a_run_needs_records():
    rows, labels = PRIVATE_ROWS.inputs[:0], PRIVATE_ROWS.labels[:0]
    nobody = dataclasses.replace(
        PRIVATE_ROWS, inputs=rows, labels=labels, persons=labels, public_classes=True
    )
    with pytest.raises(InputError, match="private must hold records, got none"):
        run_job(RunData.of(nobody, TEST_ROWS), SPEC)


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def finished(told):
    return run_job(
        roles(pool=POOL_ROWS), SPEC, command="a command", stage=lambda *stage: told.append(stage)
    )


def test_the_release_that_is_handed_over_is_charged_before_anything_is_attacked():
    charged, told = [], []

    def charge(terms, purpose, event):
        assert told == [], "work was done before the charge"
        charged.append((terms.epsilon, terms.delta, terms.unit, purpose, event))

    found = brief_job(roles(), QUICK, stage=lambda *stage: told.append(stage), charge=charge)
    ((epsilon, delta, unit, purpose, event),) = charged
    assert (epsilon, delta, unit) == (EPSILON, DELTA, "one record")
    assert purpose == f"{found.released.recipe.name}, {found.released.mechanism} noise"
    assert event == found.released.event
    assert was_charged(found.released)


def test_a_run_beyond_the_budget_ends_before_it_begins():
    told = []

    def charge(*_):
        raise BudgetExhausted("nothing was charged, release nothing")

    with pytest.raises(BudgetExhausted):
        brief_job(roles(), QUICK, stage=lambda *stage: told.append(stage), charge=charge)
    assert told == []


@pytest.fixture(scope="module")
def results(finished):
    return finished.results


@pytest.fixture(scope="module")
def asked(results):
    """The releases at the ε that was asked for."""
    return [one for one in results.releases if one.claim.epsilon == EPSILON]


@pytest.fixture(scope="module")
def again(finished):
    """Another run with the same seed, and other noise."""
    return brief_job(roles(), dataclasses.replace(QUICK, penalties=SPEC.penalties))


@pytest.fixture(scope="module")
def declared():
    spec = dataclasses.replace(
        QUICK, inferred_from_data=("classes", "bound"), mechanisms=("gaussian",)
    )
    return brief_job(roles(), spec)


@pytest.fixture(scope="module")
def owned():
    """Each of 50 people has three rows, of which two are kept; they stand apart."""
    return dataclasses.replace(PRIVATE_ROWS, persons=np.arange(PRIVATE) % 50)


@pytest.fixture(scope="module")
def of_people(owned):
    spec = dataclasses.replace(QUICK, max_records_per_person=2, mechanisms=("gaussian",))
    return brief_job(roles(owned), spec).results


pytestmark = pytest.mark.slow


class TestDocument:
    def test_every_stage_is_told_to_its_end(self, told, results):
        ends = {stage: (done, whole) for stage, done, whole in told}
        every = [what for stage in STAGES for what in stage.told]
        assert [*ends, OTHER_PLACES] == every  # the last one where it is asked for
        assert all(done == whole for done, whole in ends.values())
        assert ends["releases"][1] == len(results.releases)

    def test_the_stages_are_all_that_a_run_computes(self, results):
        """Each once and in the order of the list: a part that a document asks for is one."""
        parts = [stage.part for stage in STAGES]
        computed = {name for name, one in vars(Job).items() if isinstance(one, cached_property)}
        assert set(parts) <= computed
        assert computed - set(parts) == {"adversaries", "_before", "_recommended_kind", "rows"}

    def test_the_facts(self, results):
        facts = results.facts
        assert (facts.private, facts.others, facts.test) == (PRIVATE, OTHERS, TEST)
        assert (facts.features, facts.classes) == (64, DIGITS.classes)
        assert (facts.relation, facts.unit, facts.name) == ("add-remove", "one record", "digits")
        assert not facts.test_is_public

    def test_how_it_was_made(self, results):
        made = results.made
        assert made.command == "a command"
        assert made.random == RANDOM
        assert "noise of every release" in made.random[0]
        assert made.settings["pairs"] == "20"
        assert set(made.settings) == {field.name for field in dataclasses.fields(RunSpec)}

    def test_all_of_it_is_kept_and_read_again(self, finished, results, tmp_path):
        paths = finished.save(tmp_path / "new" / "folder")
        assert [path.name for path in paths] == [
            "results.json", "released.safetensors", "released.json",
        ]  # fmt: skip
        plain = as_read(results.model_dump(mode="json"))  # declared at most, as all that is read
        assert read_results(paths[0]).model_dump(mode="json") == plain
        assert results.recommended.file == "released"
        assert [one.file for one in results.releases].count(None) == len(results.releases) - 1
        assert verify(tmp_path / "new" / "folder" / results.recommended.file).holds
        loaded = load(paths[1])
        assert set(loaded.tensors) == set(finished.released.tensors)
        for name, tensor in finished.released.tensors.items():
            assert np.array_equal(loaded.tensors[name], tensor)

    def test_a_folder_that_cannot_be_is_one_line(self, finished, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="must be a folder"):
            finished.save(tmp_path / "file" / "below")


class TestReleases:
    def test_the_recommended_one_is_what_the_plan_says(self, finished, results):
        advice = plan(
            Situation(
                records=PRIVATE, features=64, classes=10, epsilon=EPSILON, delta=DELTA,
                relation="add-remove", bound=2.5,
            )
        )  # fmt: skip
        release = results.recommended
        assert (release.learner, release.mechanism) == (advice.learner, advice.mechanism)
        assert release.claim.epsilon == EPSILON
        assert finished.released.guarantee.grade is Grade.PROVEN
        assert str(finished.released.guarantee) == release.claim.text
        assert finished.released.scales == release.scales

    def test_the_grid_is_complete(self, results):
        found = {(one.learner, one.claim.epsilon, one.claim.grade) for one in results.releases}
        assert found == {
            *(("noisy-gradient", epsilon, "proven") for epsilon in SPEC.epsilons),
            *(
                ("weights", epsilon, grade)
                for epsilon in SPEC.epsilons
                for grade in ("proven", "sampled", "published")
            ),
        }
        assert len(found) == len(results.releases)

    def test_at_the_asked_epsilon_every_release_is_audited(self, results, asked):
        assert len(asked) == 4
        assert all(one.audit is not None for one in asked)
        assert all(one.audit is None for one in results.releases if one not in asked)

    def test_proven_claims_stand(self, asked):
        """Each may fall with probability 1e-7 though it is true."""
        proven = [one for one in asked if one.claim.grade == "proven"]
        assert len(proven) == 2
        for release in proven:
            assert release.audit.verdict == "not refuted"
            assert release.audit.measured.epsilon <= EPSILON
            assert release.audit.analytic <= EPSILON
            assert release.audit.measured.confidence == pytest.approx(1 - SPEC.beta / 4, abs=0)

    def test_published_ones_say_so(self, asked, results):
        (published,) = (one for one in asked if one.claim.grade == "published")
        assert "published" in published.name
        assert "published" in published.claim.text
        assert results.refuted(grades=("proven", "declared")) == ()
        line = f"Audit of {published.name}: {published.audit.verdict}"
        assert any(sentence.startswith(line) for sentence in results.conclusion.sentences)

    def test_less_noise_is_more_accurate(self, results):
        """Scales fall with ε, and with what is believed of the sensitivity."""
        scale = {
            (one.claim.epsilon, one.claim.grade): one.scales["coordinates"]
            for one in results.releases
            if one.learner == "weights"
        }
        for grade in ("sampled", "published"):  # whose λ is the same; the proven one's is planned
            assert scale[EPSILON, grade] > scale[8.0, grade]

    def test_accuracies_are_shares_of_the_test_records(self, finished, results):
        rows, labels = roles().rows("test")
        own = float(np.mean(finished.released.predict(rows) == labels))
        release = results.recommended
        other = 2 * release.accuracy.value - own  # of the second draw
        assert release.draws == 2
        assert math.isclose(other * TEST, round(other * TEST), abs_tol=1e-6)
        assert release.accuracy.low <= own <= release.accuracy.high
        before = results.unprotected.accuracy.value
        assert release.loss.value == pytest.approx(1 - release.accuracy.value / before)


class TestAttacks:
    def test_who_attacks_what(self, results, asked):
        chosen = results.conclusion.attack
        assert [one.name for one in results.unprotected.attacks] == list(CANDIDATES)
        assert chosen in CANDIDATES
        for release in results.releases:
            names = [one.name for one in release.attacks]
            if release.name == results.recommended.name:
                assert names == list(CANDIDATES)
            elif release in asked:
                assert names == [chosen, EXACT]
            else:
                assert names == [chosen]

    def test_sides_are_whole(self, results):
        for attacks in (results.unprotected.attacks, *(one.attacks for one in results.releases)):
            assert all((one.members, one.others) == (PRIVATE, OTHERS) for one in attacks)
            assert all(one.black_box == (one.name != EXACT) for one in attacks)

    def test_the_overfit_head_leaks(self, results):
        """0.89 with 150 records and hardly a penalty; the interval's half is 0.06."""
        found = attack_named(results.unprotected.attacks, results.conclusion.attack)
        assert found.leaks
        assert found.auc.low > 0.6
        assert "Published as it is, this model tells" in results.conclusion.headline

    def test_the_conclusion_has_the_figures_of_the_rows(self, results):
        conclusion, release = results.conclusion, results.recommended
        assert conclusion.before == attack_named(results.unprotected.attacks, conclusion.attack).auc
        assert conclusion.after == attack_named(release.attacks, conclusion.attack).auc
        assert conclusion.allowed == allowed_auc(release)
        assert conclusion.recommended == release.name

    def test_equal_seeds_attack_alike_and_noise_differs(self, results, finished, again):
        assert again.results.unprotected == results.unprotected
        assert again.results.conclusion.attack == results.conclusion.attack
        for name, tensor in finished.released.tensors.items():
            assert np.isclose(again.released.tensors[name], tensor).mean() < 0.1
        assert again.released.scales == finished.released.scales


class TestExposure:
    def test_powers_are_sorted_and_allowed(self, results):
        found = results.exposure
        assert len(found.powers) == PRIVATE
        assert list(found.powers) == sorted(found.powers)
        assert found.allowed == ceiling(0.01, epsilon=EPSILON, delta=DELTA)
        assert found.fpr <= found.powers[0]
        assert found.powers[-1] <= found.allowed

    def test_the_most_exposed_are_the_largest(self, results):
        found = results.exposure
        assert len(found.most) == 20
        assert [one.power for one in found.most] == pytest.approx(
            found.powers[: -len(found.most) - 1 : -1], abs=1e-6
        )
        names = np.asarray(DIGITS.classes)[PRIVATE_ROWS.labels]
        assert all(names[one.row] == one.label for one in found.most)
        assert len({one.row for one in found.most}) == 20

    def test_it_is_about_the_proven_gaussian_head(self, results):
        release = next(one for one in results.releases if one.name == results.exposure.release)
        assert (release.learner, release.mechanism) == ("weights", "gaussian")
        assert (release.claim.grade, release.claim.epsilon) == ("proven", EPSILON)

    def test_without_such_a_head_there_is_none(self, again):
        assert again.results.exposure is None


class TestSensitivities:
    def test_three_ways_to_say_it(self, results):
        rows = {one.grade: one for one in results.sensitivities}
        assert list(rows) == ["proven", "sampled", "published"]
        assert rows["proven"].l2 > rows["published"].l2
        assert rows["proven"].l2 > rows["sampled"].l2
        assert rows["sampled"].gamma is not None
        assert not any("sampled" in line for line in results.conclusion.sentences[-1:])

    def test_without_public_labels_nothing_is_sampled_and_the_document_says_why(self, again):
        assert [one.grade for one in again.results.sensitivities] == ["proven", "published"]
        assert not any(one.claim.grade == "sampled" for one in again.results.releases)
        assert (
            "No sensitivity was sampled: that needs public records with labels."
            in again.results.conclusion.sentences
        )


class TestReadOff:
    def test_no_release_is_more_than_declared(self, declared):
        grades = {one.claim.grade for one in declared.results.releases}
        assert grades == {"declared", "published"}
        assert {one.grade for one in declared.results.sensitivities} == grades
        assert declared.released.guarantee.grade is Grade.DECLARED
        assert "(declared)" in declared.results.recommended.name
        assert "(declared)" in declared.results.conclusion.headline
        for name in ("classes", "bound"):
            line = f"{name}: read from the private data, not declared"
            assert line in declared.results.recommended.claim.stated

    def test_the_certificate_says_so_too(self, declared, tmp_path):
        declared.save(tmp_path)
        found = verify(tmp_path / "released")
        assert found.holds  # the noise follows from the numbers, wherever these come from
        assert found.guarantee.grade is Grade.DECLARED
        assert "classes: read from the private data, not declared" in found.guarantee.stated

    def test_declared_claims_are_audited_and_exposed_as_proven_ones(self, declared):
        assert all(one.audit is not None for one in declared.results.releases)
        assert declared.results.refuted(grades=("declared",)) == ()
        assert declared.results.exposure is not None


class TestPersons:
    def test_rows_are_capped_and_the_unit_is_named(self, of_people):
        assert of_people.facts.private == 100
        assert of_people.facts.unit == "one person with at most 2 records"
        assert of_people.unprotected.attacks[0].members == 100
        for release in of_people.releases:
            if release.claim.grade == "proven":
                assert release.claim.unit == of_people.facts.unit

    def test_all_releases_are_audited_each_for_its_own_unit(self, of_people):
        for release in of_people.releases:
            if release.claim.grade == "proven":
                assert release.audit.verdict == "not refuted"
                assert "person" in release.audit.pair
                assert 0.2 < release.audit.tightness <= 1
            else:
                assert release.claim.unit == "one record"
                assert "person" not in release.audit.pair
        (line,) = (one for one in of_people.conclusion.sentences if "audited for" in one)
        assert line.startswith("Sampled and published sensitivities are about one record")
        assert of_people.facts.unit in line

    @pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
    def test_equal_records_reach_the_sensitivity_of_a_learners_sums(self, owned, relation):
        spec = dataclasses.replace(QUICK, max_records_per_person=3, relation=relation)
        drawn = ClassMeansHead(
            classes=DIGITS.classes, records=PRIVATE, epsilon=EPSILON, delta=DELTA,
            relation=relation, max_records_per_person=3,
        ).fit(owned.features, np.asarray(DIGITS.classes)[owned.labels]).released_  # fmt: skip
        found = auditing._Auditor(data=roles(owned), spec=spec, fresh=None, beta=1e-6)(drawn)
        assert found.verdict == "not refuted"
        assert 0.9 < found.tightness <= 1
        assert found.pair == "3 equal records of one person, and none or their opposites"

    def test_whose_records_they_are_must_be_said(self):
        spec = dataclasses.replace(QUICK, max_records_per_person=2)
        with pytest.raises(
            InputError, match="persons must be given with max_records_per_person = 2"
        ):
            brief_job(roles(), spec)
        with pytest.raises(
            InputError, match="persons must be given with max_records_per_person = 1"
        ):
            brief_job(roles(), dataclasses.replace(QUICK, max_records_per_person=1))

    def test_exposed_rows_are_those_of_the_file(self, owned, of_people):
        names = np.asarray(DIGITS.classes)[owned.labels]
        assert all(names[one.row] == one.label for one in of_people.exposure.most)
        assert max(one.row for one in of_people.exposure.most) < 100  # the third rows are not kept

    @pytest.mark.parametrize("each", [None, 1])
    def test_the_first_rows_are_kept_wherever_they_stand(self, each, tmp_path):
        turned = dataclasses.replace(PRIVATE_ROWS, persons=np.arange(PRIVATE) // 3)
        spec = dataclasses.replace(QUICK, max_records_per_person=each, mechanisms=("gaussian",))
        finished = brief_job(roles(turned), spec)
        found = finished.results
        assert found.facts.private == 50
        assert {one.row % 3 for one in found.exposure.most} == {0}
        names = np.asarray(DIGITS.classes)[turned.labels]
        assert all(names[one.row] == one.label for one in found.exposure.most)
        assert all("of a person" in one.audit.pair for one in found.releases)
        # What is said of the estimates for one record is about a person who has one, too.
        units = {found.facts.unit, *(one.claim.unit for one in found.releases)}
        assert units == {"one person with at most 1 record"}
        assert not any("audited for" in one for one in found.conclusion.sentences)
        finished.save(tmp_path)
        assert verify(tmp_path / "released").holds
        assert load(tmp_path / "released").guarantee.unit in units


def test_replace_one():
    spec = dataclasses.replace(QUICK, relation="replace-one", mechanisms=("gaussian",))
    found = brief_job(roles(), spec).results
    assert found.facts.relation == "replace-one"
    assert {one.claim.relation for one in found.releases} == {"replace-one"}
    assert all(one.audit.verdict == "not refuted" for one in found.releases if
               one.claim.grade == "proven")  # fmt: skip
    assert {one.relation for one in found.sensitivities} == {"replace-one"}


def test_what_the_attacks_find_odd_about_the_records_is_said():
    twice = PRIVATE_ROWS.take(np.append(np.arange(PRIVATE), np.arange(10)))
    notes = brief_job(roles(twice), QUICK).results.conclusion.sentences
    assert any("10 records are copies of others on their side" in line for line in notes)

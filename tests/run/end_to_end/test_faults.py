"""Faults that once made a printed *proven* ε false, put back: the end-to-end audit finds each.

Every audit that starts after a table was read and cleaned was blind to them. Without its
fault the same pair holds.
"""

import dataclasses

import numpy as np
import pytest
from scipy import linalg

from reticent.audit.end_to_end import head_starts
from reticent.audit.end_to_end.pairs import UNITS, audit_pair, combinations
from reticent.cli import output, table_form
from reticent.data import tables
from reticent.data.schema import file_cells, kinds
from reticent.guarantee import GaussianEvent
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.guarantee.rounding import up
from reticent.protect import head_numbers, learner, network_run, released_encoder, terms
from reticent.protect.answers import answers
from reticent.protect.answers.plan import AnswerPlan
from reticent.protect.recipes import head_start
from reticent.run.every_release import every_release
from reticent.training import features, optimum
from reticent.training.encoders import cache
from reticent.training.fine_tuning import partly
from reticent.training.public_step import Enclosing

MOST = 500
RELEASES = every_release()


@pytest.fixture
def few_examples():
    """A network's slots are compared by 8 random records: that check has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:  # of its own: a fault is undone without it
        patch.setattr(network_run, "_EXAMPLES", 8)
        yield


def found_within(releases, *, units=UNITS, first=0, limit=30.0, says=""):
    """The pair in which the audit finds something, of the first 500.

    A pair is a function of its number: those before ``first``, which hold, need not be tried.
    """
    asked = combinations({name: RELEASES[name] for name in releases})
    asked = [one for one in asked if one.unit in units]
    for number in range(first, MOST // len(asked)):
        for one in asked:
            outcome = audit_pair(RELEASES[one.release], one, number, limit=limit).outcome
            if any(says in problem for problem in outcome.problems):
                return one, number
    raise AssertionError(f"{MOST} pairs find nothing that says {says!r}")


def assert_found(monkeypatch, releases, **options):
    """With the fault a pair finds it, and without it the same pair holds."""
    one, number = found_within(releases, **options)
    monkeypatch.undo()
    assert audit_pair(RELEASES[one.release], one, number).outcome.holds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weights", "class-means", "noisy-gradient", "lda"])
def test_one_row_of_a_person_is_not_one_record(monkeypatch, name):
    honest = terms.unit_of
    for module in (terms, head_numbers):
        monkeypatch.setattr(
            module, "unit_of", lambda each: ONE_RECORD if each == 1 else honest(each)
        )
    first = {"weights": 15}.get(name, 0)
    assert_found(
        monkeypatch, [name], units=["person"], first=first, says="of its claimed sensitivity"
    )


@pytest.mark.slow
def test_one_answer_tells_of_the_mean_too(monkeypatch):
    monkeypatch.setattr(
        AnswerPlan,
        "one_answer_epsilon",
        property(lambda self: up(self.noise.epsilon(delta=self.delta))),
    )
    assert_found(monkeypatch, ["answers"], first=8, says="of the claimed ε")


def einsum_fitted(rows, bound, *, lengthen):
    """Norms by ``einsum``, which adds in another order for one row and for other layouts."""
    limit = bound / features.shrink(rows.shape[1])
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 2.0**-1000)
    exponent = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    with np.errstate(all="ignore"):
        scaled = rows / exponent
        norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
        changed = (norms > limit / exponent) | (lengthen & (norms > 0))
        return scaled * np.where(changed, limit / norms, exponent)


@pytest.mark.slow
def test_a_norm_that_depends_on_the_number_of_rows(monkeypatch):
    monkeypatch.setattr(features, "_fitted", einsum_fitted)
    assert_found(monkeypatch, ["mean, arrays"], first=17, says="of its claimed sensitivity")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["scaler", "subclass", "replaced", "around"])
def test_ways_around_the_noise(monkeypatch, way):
    monkeypatch.setattr(learner, "refuse_as_learner", lambda _: Enclosing())
    assert_found(monkeypatch, [f"hostile: {way}"])


def stacked_features(table, names):
    """One type for all columns, found from all cells, and then 32-bit floats."""
    columns = [table.column(name, role="feature") for name in names]
    if len(columns) == 1:
        return tables._block(names[0], columns[0])
    with np.errstate(over="ignore"):
        return tuple(names), np.stack(columns, axis=1).astype(np.float32)


@pytest.mark.slow
def test_types_that_are_found_from_all_cells(monkeypatch):
    releases = ["class-means", "lda"]
    guessing = tables.open_columns
    monkeypatch.setattr(tables, "_all_features", stacked_features)
    monkeypatch.setattr(
        tables, "open_columns", lambda path, *, texts, **_: guessing(path, texts=texts)
    )
    found_within(releases, says="of its claimed sensitivity")
    # A number beyond float32:
    assert_found(monkeypatch, ["mean"], says="only one of two neighbours is refused")


def solved_roughly(here, gradient, moment):
    """Newton's direction by conjugate gradients that one matrix for all classes preconditions."""
    rough = here.mean_spread() * moment
    damping = here.objective.penalty + 2.0**-40 * float(np.trace(rough))
    factor = linalg.cho_factor(rough + damping * np.eye(len(moment)), lower=True)
    solution, residual = np.zeros_like(gradient), gradient.copy()
    image = linalg.cho_solve(factor, residual.T).T
    direction, size = image.copy(), float(np.sum(residual * image))
    enough = 1e-4 * size
    for _ in range(300):
        if not size > enough:
            break
        product = here.times(direction)
        length = size / float(np.sum(direction * product))
        solution, residual = solution + length * direction, residual - length * product
        image = linalg.cho_solve(factor, residual.T).T
        smaller = float(np.sum(residual * image))
        direction, size = image + smaller / size * direction, smaller
    return solution


def gradient_norm_step(self, here):
    """A step of Newton's if it shrinks the gradient, else a gradient step, which may be tiny."""
    direction = solved_roughly(here, here.gradient, self.objective.second_moment())
    before = np.linalg.norm(here.gradient)
    for length in (2.0**-k for k in range(11)):
        there = self.objective.curvature(here.point - length * direction)
        if np.linalg.norm(there.gradient) < (1 - 0.3 * length) * before:
            return there
    return self.objective.curvature(here.point - here.gradient / self.objective.smoothness())


@pytest.mark.slow
def test_a_search_that_does_not_end(monkeypatch):
    monkeypatch.setattr(optimum._Search, "step", gradient_norm_step)
    assert_found(monkeypatch, ["class weights, arrays"], first=30, limit=5.0, says="did not end")


def range_of_the_column(values, low, high, zero):
    """Scaled by the largest number of the column instead of the public range."""
    cut = np.clip(values, low, high)
    return (cut - zero) / max(float(np.abs(cut - zero).max(initial=0.0)), 1e-9)


@pytest.mark.slow
def test_a_range_that_is_read_off_the_column(monkeypatch):
    monkeypatch.setattr(kinds, "scaled_to_range", range_of_the_column)
    assert_found(monkeypatch, ["schema, class-means"], says="of its claimed sensitivity")


@pytest.mark.slow
def test_whole_numbers_that_a_gap_turns_into_fractions(monkeypatch):
    """One record's gap makes the column one of fractions: 1 of all others must stay 1."""
    honest = file_cells.text_of

    def as_stored(cell):
        return repr(cell) if isinstance(cell, float) and not np.isnan(cell) else honest(cell)

    monkeypatch.setattr(file_cells, "text_of", as_stored)
    assert_found(monkeypatch, ["schema, class-means"], first=10, says="of its claimed sensitivity")


def centred_features(model, rows, honest=partly.frozen_features):
    """Centred by the mean of all records, which one record moves for all others."""
    features = honest(model, rows)
    return features - features.mean(axis=0) if len(features) else features


def two_heads(recipe, rows, labels, plan, honest=head_start.learnt_head):
    """The better of two by a share that pays for one; here simply the second."""
    honest(recipe, rows, labels, plan)
    return honest(recipe, rows, labels, plan)


def counted_head(recipe, rows, labels, plan, honest=head_start.learnt_head):
    """Offsets from the exact numbers of the classes, as a head without noise would start."""
    layer = honest(recipe, rows, labels, plan)
    counts = np.bincount(labels, minlength=recipe.classes)
    return head_start.Affine(layer.weights, layer.offsets + np.log1p(counts))


@pytest.mark.slow
@pytest.mark.usefixtures("few_examples")
@pytest.mark.parametrize(
    ("module", "name", "fault", "says"),
    [
        (partly, "frozen_features", centred_features, "of its claimed sensitivity"),
        (head_start, "learnt_head", two_heads, "of the claimed ε"),
        (head_start, "learnt_head", counted_head, "something passes by the noise"),
    ],
)
def test_a_head_that_a_network_starts_from(monkeypatch, module, name, fault, says):
    monkeypatch.setattr(module, name, fault)
    assert_found(monkeypatch, ["network from a head"], units=["record"], says=says)


def encoded_together(encoder):
    """Batches as they come: an encoder may let one record move the features of others."""
    return encoder.encode


@pytest.mark.slow
@pytest.mark.parametrize("name", ["an encoder", "an encoder of texts"])
def test_records_that_are_encoded_together(monkeypatch, name):
    monkeypatch.setattr(cache, "one_by_one", encoded_together)
    assert_found(monkeypatch, [f"protect on {name} (command)"], says="of its claimed sensitivity")


def counted_table(form, path, honest=table_form.TableForm.read_private):
    """How many records there are, on the error stream."""
    data = honest(form, path)
    output.print_warning(f"{len(data)} records")
    return data


@pytest.mark.slow
def test_a_private_number_on_the_error_stream(monkeypatch):
    monkeypatch.setattr(table_form.TableForm, "read_private", counted_table)
    assert_found(
        monkeypatch, ["protect class-means (command)"], says="something passes by the noise"
    )


def half_of_the_encoder(release, honest=released_encoder.composed_guarantee):
    """What both promise together, with the head alone counted."""
    both = honest(release)
    return both and release.guarantee


@pytest.mark.slow
def test_an_encoder_by_its_command_that_is_not_composed(monkeypatch):
    monkeypatch.setattr(head_starts.protect, "composed_guarantee", half_of_the_encoder)
    assert_found(monkeypatch, ["protect on a released encoder (command)"], says="of the claimed ε")


@pytest.mark.slow
def test_a_service_whose_answers_have_half_their_noise(monkeypatch):
    """Of all answers together more is claimed than what their noise gives."""
    honest = answers.claims_of

    def halved(*arguments, **options):
        return tuple(
            dataclasses.replace(claim, epsilon=claim.epsilon / 8)
            for claim in honest(*arguments, **options)
        )

    monkeypatch.setattr(answers, "claims_of", halved)
    assert_found(monkeypatch, ["serve (command)"], says="of the claimed ε")


@pytest.mark.slow
@pytest.mark.usefixtures("few_examples")
def test_a_start_that_is_not_composed(monkeypatch):
    """Both together must cost more than the network alone."""
    monkeypatch.setattr(released_encoder, "event_in", lambda _: GaussianEvent(noise_multiplier=1e6))
    assert_found(
        monkeypatch, ["network from a released head"], units=["record"], says="of the claimed ε"
    )

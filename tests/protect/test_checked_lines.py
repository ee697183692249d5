"""Each line under *checked* names the function that checks it; broken, the line is found untrue.

For every function that a line names there is a test of the line and a way to break the function.
The test passes, and fails when the function is broken: so no line is a mere sentence.
"""

import contextlib
import dataclasses
import functools
import importlib
import math
import tempfile
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import integrate
from sklearn.base import BaseEstimator

from reticent import bounds
from reticent.audit.end_to_end import head_starts
from reticent.audit.end_to_end.pairs import audit_pair, combinations
from reticent.audit.transcript_replay import run_pair
from reticent.guarantee import Sensitivity
from reticent.guarantee.guarantee import checked_by, name_of_check
from reticent.guarantee.sensitivity import NORMS
from reticent.ledger import BudgetExhausted, Ledger
from reticent.ledger.answer_book import AnswerBook
from reticent.ledger.questions import Reply
from reticent.mechanisms import (
    BlockL2Laplace,
    Exponential,
    Gaussian,
    L2Laplace,
    Laplace,
    Logistic,
    MatrixLaplace,
    PermuteAndFlip,
)
from reticent.mechanisms.additive import CoordinatewiseMechanism
from reticent.mechanisms.pure import PureMechanism
from reticent.mechanisms.response import RandomisedResponse
from reticent.mechanisms.rounded import default_grid
from reticent.protect import (
    RECIPES,
    AdaSSPHead,
    AdaSSPRegressor,
    ClassMeansHead,
    LDAHead,
    MatrixLDAHead,
    NoisyGradientHead,
    PrivateNetwork,
    PureClassMeansHead,
    Terms,
    calibrated_answers,
    certified_head,
    composed_guarantee,
    network_run,
    noise_scales,
    noisy_query,
    numbers_of,
    private_answers,
    recipe,
    release,
    release_mean,
    release_records,
    release_weights,
    save,
    set_answer_budget,
    use_encoder,
)
from reticent.protect.answers import answers as answers_module
from reticent.protect.answers.plan import AnswerPlan
from reticent.protect.answers.served import ServedAnswers
from reticent.protect.contrastive_run import unit_embeddings
from reticent.protect.noisy_query import everyone
from reticent.protect.recipes import functional, pate, regression, statistics
from reticent.protect.recipes import input as inputs_module
from reticent.protect.recipes import mean as mean_module
from reticent.protect.registry import encoders
from reticent.randomness import SecureBits
from reticent.run.every_release import every_release
from reticent.training import SigmoidHead, SoftmaxHead, linear_head, public_step, softmax
from reticent.training.features import public_map
from reticent.training.fine_tuning.partly import frozen_features
from reticent.training.gradients import (
    GradientSum,
    SharedGradientSum,
    batch_sum,
    batches,
    shared_sum,
)
from reticent.training.gradients import pair_sum as pair_module
from reticent.training.networks import network, token_encoder
from reticent.training.public_step import Enclosing
from reticent.training.softmax import zero_sum_basis
from reticent.validation import InputError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 4)), np.arange(60) % 3
TERMS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
PURE = TERMS | {"delta": 0.0}
LEARNERS = (
    NoisyGradientHead,
    ClassMeansHead,
    AdaSSPHead,
    LDAHead,
    PureClassMeansHead,
    MatrixLDAHead,
)


def mean_of(**changes):
    return release_mean(X, bound=2.0, records=60, share=0.2, **(TERMS | changes))


def centred(mean=None):
    centre = None if mean is None else mean.tensors["mean"]
    return SoftmaxHead(classes=range(3), records=60, penalty=0.1, centre=centre).fit(X, Y)


def answers_of(mechanism, *, mean=None, space=None, queries=3):
    head = centred(mean)
    plan = calibrated_answers(
        numbers_of(head, mean=mean),
        **TERMS,
        queries=queries,
        mechanism=mechanism,
        space=space,
        before=None if mean is None else mean.event,
    )
    return private_answers(head, plan, mean=mean)


@contextlib.contextmanager
def served_answers():
    """A head behind a ledger with one client."""
    head = centred()
    plan = calibrated_answers(
        numbers_of(head), **TERMS, queries=2, mechanism="exponential", filter="zcdp"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger.open(f"{folder}/ledger.sqlite", create=True) as ledger,
    ):
        set_answer_budget(ledger, "served", plan)
        served = ServedAnswers(private_answers(head, plan), ledger, account="served")
        served.book.clients.add("client", data_set="served", limit=None)
        yield served


def claims():
    """Guarantees of every kind of release, by all mechanisms."""
    for mechanism in ("gaussian", "logistic", "laplace", "l2-laplace"):
        terms = TERMS if mechanism == "gaussian" else PURE
        yield release_weights(centred(), **terms, mechanism=mechanism).guarantee
    yield release_weights(centred(), **TERMS, mechanism="logistic").guarantee
    labels = np.column_stack([Y > 0, Y > 1]).astype(int)
    head = SigmoidHead(classes=range(2), records=60, penalty=0.1).fit(X, labels)
    yield release_weights(head, **TERMS).guarantee
    mean = mean_of()
    yield mean.guarantee
    yield release_weights(centred(mean), mean=mean, **TERMS).guarantee
    for mechanism in ("gaussian", "logistic", "exponential", "permute-and-flip"):
        answers = answers_of(mechanism, mean=mean)
        yield answers.guarantee
        yield answers.each
    yield answers_of("gaussian", space="logits").guarantee
    with served_answers() as served:
        yield served.guarantee
    for kind in LEARNERS:
        yield kind(classes=range(3), records=60, **TERMS).fit(X, Y).guarantee_
    regressor = AdaSSPRegressor(bound=1.0, target_bound=3.0, records=60, **TERMS)
    yield regressor.fit(X, Y.astype(float)).guarantee_
    for name in ("functional", "objective", "pate", "input"):
        yield released_by(name).guarantee
    yield released_by("input", label_noise="gaussian").guarantee
    terms = Terms(**TERMS)
    for name in encoders():
        encoder = RECIPES[name].planned(terms, records=60, features=4)
        yield release_records(encoder, terms, X, Y).guarantee
    terms = Terms(**(TERMS | {"relation": "replace-one"}))
    for way in ("released-embeddings", "logit-clipping"):
        yield release_records(batch_of_one_size(way), terms, X, Y).guarantee
    yield released_by("network", batch=30, epochs=0.1).guarantee
    yield from encoder_and_head()


def encoder_and_head():
    """Of an encoder, of a head on its features of the same people, and of both together."""
    terms = Terms(**TERMS)
    encoder = release_records(
        RECIPES["prototypes"].planned(terms, records=60, features=4), terms, X, Y
    )
    terms, rows = Terms(**TERMS, encoder=use_encoder(encoder, "same")), encoder.transform(X)
    planned = RECIPES["class-means"].planned(terms, records=60, features=rows.shape[1], classes=3)
    head = release_records(planned, terms, rows, Y, classes=range(3))
    return encoder.guarantee, head.guarantee, composed_guarantee(head)


def networks_from_heads(folder):
    """A network from a head of its own budget; a head, a network from it, and both together."""
    model = f"{head_starts.encoder_folder()}#head"
    tokens = token_encoder(model, 4).encode(np.array(["w1 w2", "w3", "w4 w5 w6"] * 20))
    numbers = {"classes": range(3), "records": 60, "architecture": model, "epochs": 0.1}
    numbers |= {"batch": 30, **TERMS}
    yield PrivateNetwork(**numbers, head_share=0.5).fit(tokens, Y).guarantee_
    partly = network(model, (4,), 3, seed=0)
    rows = frozen_features(partly, torch.from_numpy(tokens))
    head = NoisyGradientHead(classes=range(3), records=60, **TERMS).fit(rows, Y)
    save(head.released_, folder / "head")
    started = PrivateNetwork(**numbers, start=str(folder / "head"), start_people="same")
    released = started.fit(tokens, Y).released_
    yield from (head.guarantee_, released.guarantee, composed_guarantee(released))


def batch_of_one_size(way, **options):
    numbers = {"records": 60, "features": 4, "embedding": 2, "batch": 6, "epochs": 0.1}
    terms = Terms(**(TERMS | {"relation": "replace-one"}))
    return RECIPES["simclr"].planned(terms, way=way, clip=1e-3, **(numbers | options))


def released_by(name, **options):
    """A release of the recipe of this name on the records of all these tests."""
    terms = Terms(**TERMS)
    planned = RECIPES[name].planned(terms, records=60, features=4, classes=3, **options)
    return release_records(planned, terms, X, Y, classes=range(3))


def lines():
    return {line for claim in claims() for line in claim.checked}


@functools.cache
def pairs_hold(*releases, pairs=2):
    """The test that neighbouring files go through these releases; the same for the same pairs.

    A pair is a function of its number: what 24 of them find today, they find tomorrow.
    """

    def holds():
        audited = {name: every_release()[name] for name in releases}
        for one in combinations(audited):
            for number in range(pairs):
                assert audit_pair(audited[one.release], one, number).outcome.holds

    return holds


def scaled(bound, share):
    """A bound that is too small."""

    def smaller(*arguments, **options):
        honest = bound(*arguments, **options)
        norms = {
            name: share * getattr(honest, name)
            for name in NORMS
            if getattr(honest, name) is not None
        }
        return dataclasses.replace(honest, grade="declared", **norms)

    return smaller


# ----------------------------------------------------------------------------- trained encoders


def contrastive_recipe(name):
    return RECIPES[name].planned(
        Terms(**TERMS),
        records=60,
        features=4,
        embedding=3,
        batch=30,
        epochs=0.5,
        clip=1e-3,
        physical=8,
    )


def one_record_moves_a_step_by_no_more_than_claimed(name="spectral"):
    """A row of zeros has equal views, and every gradient is clipped: both bounds are reached."""
    planned, terms = contrastive_recipe(name), Terms(**TERMS)
    plan = noise_scales.noise_plan(planned, terms)
    own, other = (
        recipe.replay(planned, plan, rows, np.zeros(len(rows)))
        for rows in (np.vstack([X[:20], np.zeros(4)]), X[:20])
    )
    shifts = run_pair(own, other, lambda noise, value: noise.release(value)).shifts
    assert max(part.tightness for part in shifts) <= 1


def embeddings_of_a_batch_move_within():
    """Far out, where tanh is flat, a record and its opposite have opposite embeddings."""
    planned = batch_of_one_size("released-embeddings", records=6)
    plan = noise_scales.noise_plan(planned, Terms(**(TERMS | {"relation": "replace-one"})))
    far = 1e6 * np.array([1.0, -0.7, 0.3, 2.0])
    own, other = (
        recipe.replay(planned, plan, np.vstack([row, X[:5]]), np.zeros(6)) for row in (far, -far)
    )
    shifts = run_pair(own, other, lambda noise, value: noise.release(value)).shifts
    assert max(part.tightness for part in shifts) <= 1


def clipped_pairs_move_within():
    """All others look one way; the last image looks there too, or away, and its slopes are huge."""
    limit = bounds.clipped_similarity_sum(clip=1.0, temperature=1.0, images=6, size=2).l2
    rng = np.random.default_rng(2)
    for _ in range(20):
        here = np.tile([1.0, 0.05], (12, 1)) + 0.01 * rng.normal(size=(12, 2))
        slopes = 1e4 * rng.normal(size=(12, 2, 2))
        there, turned = here.copy(), slopes.copy()
        there[-2:], turned[-2:] = -here[-2:], -slopes[-2:]
        one, other = (
            pair_module.pair_sum(rows, given, unit_embeddings(rows), clip=1.0, temperature=1.0)
            for rows, given in ((here, slopes), (there, turned))
        )
        assert np.linalg.norm(one - other) <= limit


def unclipped(outputs, derivatives, units, *, clip, temperature):
    return 1e3 * clip * derivatives[-1, 0]


class ByOthers(torch.nn.Module):
    """An embedding that reads the whole batch."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, views):
        return self.layer(views) + views.sum() * 1e-3


def derivatives_by_others_are_refused():
    with pytest.raises(InputError, match="same derivatives to the last bit"):
        pair_module.check_jacobians(ByOthers(), torch.randn(4, 3))


def mixing(model, rows):
    return model(rows)[:, 0] - model(rows).mean()


class LossByPlace:
    """The loss of a record depends on its place in the batch, once it is told to."""

    depends = False

    def __call__(self, model, rows):
        places = torch.arange(len(rows)) / 8 if self.depends else torch.zeros(len(rows))
        return model(rows)[:, 0] * (1 + places)


def sums_of(loss):
    example = torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
    layer = torch.nn.Linear(4, 1)
    return GradientSum(layer, loss, clip=1.0, example=(example,), physical=4), example


def coupled_losses_are_refused():
    with pytest.raises(InputError, match=r"must not influence each other|several records"):
        sums_of(mixing)


def gradients_by_place_are_refused():
    loss = LossByPlace()
    sums, example = sums_of(loss)
    loss.depends = True
    with pytest.raises(InputError, match="same gradient in all 4 slots"):
        sums._check_slots((example,), 4)


def outputs_by_place_are_refused():
    """The gradient of a sum does not see what is added to each output."""
    example = torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
    added = [0.0]

    def outputs(model, rows):
        return model(rows) + added[0] * torch.arange(len(rows))[:, None]

    sums = SharedGradientSum(
        torch.nn.Linear(4, 1),
        outputs,
        lambda rows, released: (rows * released).sum(dim=1),
        released=torch.ones(1),
        clip=1.0,
        example=(example,),
        physical=4,
    )
    added[0] = 1.0
    with pytest.raises(InputError, match="in all 4 slots"):
        sums._check_slots((example,), 4)


def records_stand_in_random_slots():
    """In order in all of eight steps by chance with probability (3!/8!)⁸ = 2·10⁻³¹."""
    seen = []

    def loss(model, rows):
        seen.append(rows[:5, 0].tolist())
        return model(rows)[:, 0]

    example = torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
    layer = torch.nn.Linear(4, 1)
    sums = GradientSum(layer, loss, clip=1.0, example=(example,), physical=8)
    seen.clear()
    for _ in range(8):
        sums.of((torch.arange(5.0)[:, None].expand(5, 4),))
    assert sums.physical >= 8
    assert seen != [[0.0, 1.0, 2.0, 3.0, 4.0]] * 8


def samples_are_coins():
    """A fair coin for each of 4,000: beyond 1,500 or 2,500 heads by 15 standard deviations."""
    one, other = (
        noisy_query.sampled_records(np.zeros((4000, 1)), np.zeros(4000), 0.5) for _ in range(2)
    )
    assert 1500 < len(one) < 2500
    assert one.tolist() != other.tolist()


def views_are_drawn_for_each_record():
    one, other = (noisy_query.record_uniforms(X, Y, 3) for _ in range(2))
    assert not np.array_equal(one, other)
    assert len(np.unique(one)) > 100


# ------------------------------------------------------------------------- privacy curves and noise


def hockey_stick(noise, epsilon):
    """δ(ε) of a shift by the L1 (or L2) sensitivity in one dimension, by quadrature."""
    shift = noise.sensitivity.l1 or noise.sensitivity.l2

    def excess(x):
        one, other = (
            float(np.exp(noise.log_density([x - centre])).item()) for centre in (0, shift)
        )
        return max(0.0, one - math.exp(epsilon) * other)

    edge = 60 * noise.std + shift
    return integrate.quad(excess, -edge, edge, limit=400, points=[0, shift])[0]


def curve_holds(kind):
    def holds():
        norms = {"l2": 1.0} if kind in (Gaussian, L2Laplace) else {"l1": 1.0}
        sensitivity = Sensitivity(**norms)
        for scale in (0.8, 3.0):
            noise = kind(scale=scale, sensitivity=sensitivity)
            noise = noise.in_dimension(1) if kind is L2Laplace else noise
            delta = 1e-3 if kind in (Gaussian, Logistic) else 0.0
            assert hockey_stick(noise, noise.epsilon(delta=delta)) <= delta * 1.001 + 1e-9

    return holds


def choice_curve_holds(kind):
    def holds():
        sensitivity = Sensitivity(linf=1.0)
        noise = kind(scale=1.0, sensitivity=sensitivity)
        one, other = (noise.log_probabilities(z) for z in ([-0.5, 20.5], [0.5, 19.5]))
        assert np.abs(one - other).max() <= noise.epsilon(delta=0.0) + 1e-12

    return holds


def rounded_holds(kind):
    """Outputs are multiples of a power of two, so their low bits tell nothing of the value."""

    def holds():
        sensitivity = Sensitivity(l1=1.0, l2=1.0, l21=1.0, nuclear=1.0, blocks=6)
        noise = kind(scale=1.0, sensitivity=sensitivity)
        outputs = noise.release(np.full(66, 1 / 3))
        joint = kind in (L2Laplace, MatrixLaplace, BlockL2Laplace)
        step = 2.0**-20 if joint else default_grid(noise.std)
        assert np.array_equal(outputs % (step / 64), np.zeros(66))
        assert len(set(outputs.tolist())) > 32

    return holds


def float_noise(self, value, grid=None):
    return value + np.random.default_rng(0).normal(size=value.shape)


def choice_varies(kind):
    """Equal scores: a fair coin, which falls on one side 200 times with probability 2⁻¹⁹⁹."""

    def holds():
        sensitivity = Sensitivity(linf=1.0)
        noise = kind(scale=1.0, sensitivity=sensitivity)
        assert len(set(noise.release(np.zeros((200, 2))).tolist())) == 2

    return holds


def noise_is_fresh():
    one, other = (mean_of().tensors["mean"] for _ in range(2))
    assert not np.array_equal(one, other)


# ---------------------------------------------------------------------------------- certified heads


def gradient_is_small():
    head = centred()
    h = head._map(X).astype(np.longdouble)
    U = zero_sum_basis(3).astype(np.longdouble)
    V = head.coordinates_.astype(np.longdouble)
    logits = h @ V.T @ U.T
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(60), Y] -= 1
    gradient = (p @ U).T @ h / 60 + np.longdouble(0.1) * V
    assert np.sqrt((gradient**2).sum()) <= head.tolerance_


def changed_heads_are_refused():
    head = centred()
    head.coordinates_ = head.coordinates_ * 2
    with pytest.raises(InputError, match="head must be as fit left it"):
        release_weights(head, **TERMS)


def other_heads_are_refused():
    balanced = SoftmaxHead(classes=range(3), records=60, class_weight="balanced").fit(X, Y)
    with pytest.raises(InputError, match="class_weight must be public"):
        release_weights(balanced, **TERMS)


def zero_sums():
    released = release_weights(centred(), **TERMS)
    assert released.tensors["coordinates"].shape == (2, 5)
    layer = released.recipe.layer(released.tensors).weights
    assert np.abs(layer.sum(axis=0)).max() < 1e-9 * np.abs(layer).max()


# ------------------------------------------------------------------------------------------ answers


def no_more_answers_than_planned():
    answers = answers_of("gaussian")
    answers.ask(X[:3])
    with pytest.raises(BudgetExhausted):
        answers.ask(X[:1])


def every_answer_is_in_the_ledger():
    with served_answers() as served:
        replies = [served.ask(1, X[:1]).result(), served.ask(1, X[1:2]).result()]
        entries = served.book._ledger.entries("served")
        assert [reply.seq for reply in replies] == [entry.seq for entry in entries]
        with pytest.raises(BudgetExhausted):
            served.ask(1, X[2:3]).result()


def answer_uncharged(self, client, rows, *, payload, draw, key):
    done = Future()
    bodies = tuple(draw([(payload, place) for place in range(len(rows))]))
    done.set_result(
        Reply(bodies=bodies, charged=1, seq=2, hash=b"", used=1, limit=None, replayed=False)
    )
    return done


def answers_differ():
    answers = answers_of("gaussian")
    assert not np.array_equal(answers.ask(X[:1]).released, answers.ask(X[:1]).released)


def one_answer_costs_the_mean():
    mean = mean_of()
    answers = answers_of("gaussian", mean=mean, queries=400)
    assert answers.each.epsilon >= mean.noises["mean"].epsilon(delta=1e-5)


def plans_with_less_noise_are_refused():
    head = centred()
    plan = calibrated_answers(numbers_of(head), **TERMS, queries=3)
    with pytest.raises(InputError, match="epsilon must be >="):
        private_answers(head, dataclasses.replace(plan, scale=plan.scale / 2))


# ----------------------------------------------------------------------------------------- learners


def fits_differ():
    one, other = (ClassMeansHead(classes=range(3), records=60, **TERMS).fit(X, Y) for _ in range(2))
    assert not np.array_equal(one.released_.tensors["weights"], other.released_.tensors["weights"])


def plans_with_less_noise_have_no_claim():
    """Of all queries, and of the last of them where a mean was released before."""
    learner = ClassMeansHead(classes=range(3), records=60, **TERMS).prepared(X, Y)
    mean = mean_of()
    released = release_weights(centred(mean), mean=mean, **TERMS)
    alone = release_weights(centred(), **TERMS)
    planned = RECIPES["network"].planned(
        learner.terms, records=60, features=4, classes=3, batch=30, epochs=0.1
    )
    trained = SimpleNamespace(recipe=planned, terms=learner.terms)
    cases = [(released, {**released.scales, **alone.scales})]
    for one in (learner, trained):
        scales = noise_scales.scales_of(noise_scales.noise_plan(one.recipe, one.terms))
        cases.append((one, halved(scales)))
    for one, scales in cases:
        weaker = noise_scales.with_scales(one.recipe, scales, one.terms)
        with pytest.raises(InputError, match="what the noise gives"):
            release.claim_of(one.recipe, one.terms, weaker)


def minimum_is_near():
    """Two searches from one exact minimum: the claimed distance holds twice the tolerance."""
    found = released_by("objective")
    bound = found.noises["output"].sensitivity.l2
    assert bound >= 2 * found.recipe.tolerance / found.recipe.penalty


def minima_differ():
    """By far more than the noise of the output alone."""
    one, other = (released_by("objective") for _ in range(2))
    apart = np.abs(one.tensors["coordinates"] - other.tensors["coordinates"]).max()
    assert apart > 100 * one.scales["output"]


def split_lines_move_within():
    """The same of rows and of labels, each by its own bound."""
    planned = RECIPES["input"].planned(
        Terms(**TERMS), records=60, features=4, classes=3, label_noise="randomised-response"
    )
    row, label = (step.sensitivity for step in planned.steps(Terms(**TERMS)).values())
    for x, y in (([1.0, 0, 0, 0], 0), ([-1.0, 0, 0, 0], 1)):
        one, other = (
            inputs_module.lines(
                np.array([sign * np.array(x)]), np.array([place]), count=1, classes=3
            )
            for sign, place in ((1, y), (-1, 1 - y))
        )
        moved = (one - other)[0]
        assert np.linalg.norm(moved[:5]) <= row.l2
        assert np.abs(moved[:5]).sum() <= row.l1
        assert np.linalg.norm(moved[5:]) <= label.l2
        assert 2 * moved[5:].any() <= label.l1  # by so much is a line paid for


def labels_vary():
    """At ε₀ = √2 each of 200 labels stays with a chance of .67: all do with probability 10⁻³⁴."""
    noise = RandomisedResponse(scale=1.0, sensitivity=Sensitivity(l1=2.0, l21=2.0, blocks=4))
    given = np.eye(4)[np.zeros(200, dtype=int)].T.ravel()
    assert not np.array_equal(noise.release(given), given)


def lines_move_within():
    """Without any one record one line changes, no further than is claimed."""
    planned = RECIPES["input"].planned(
        Terms(**TERMS), records=60, features=4, classes=3, label_noise="gaussian"
    )
    bound = planned.steps(Terms(**TERMS))["records"].sensitivity.l2
    before = inputs_module.lines(X, Y, count=60, classes=3)
    for gone in range(60):
        left = np.delete(np.arange(60), gone)
        moved = inputs_module.lines(X[left], Y[left], count=60, classes=3) - before
        assert np.linalg.norm(moved) <= bound
        assert np.count_nonzero(moved.any(axis=1)) <= 1


def votes_move_within():
    """Without any one record, the votes on each query move no further than is claimed."""
    planned = RECIPES["pate"].planned(Terms(**TERMS), records=60, features=4, classes=3, teachers=9)
    steps = planned.steps(Terms(**TERMS))
    asked = planned._asked()
    before = planned._votes(X, Y, asked)
    for gone in range(20):
        left = np.delete(np.arange(60), gone)
        after = planned._votes(X[left], Y[left], asked)
        assert np.abs(after - before).sum(axis=1).max() <= steps["votes"].sensitivity.l1
        largest = np.abs(after.max(axis=1) - before.max(axis=1)).max()
        assert largest <= steps["confidence"].sensitivity.l1


def halved(scales):
    return {name: scale / 2 for name, scale in scales.items()}


class Looking(BaseEstimator):
    """An estimator that looks at the rows and then releases without one of ours."""

    def fit(self, rows, labels):
        terms = Terms(**TERMS)
        recipe = RECIPES["class-means"].planned(terms, records=60, features=4, classes=3)
        release_records(recipe, terms, rows - rows.mean(axis=0), labels, classes=range(3))


def estimators_around_are_refused():
    with pytest.raises(InputError, match="got a fit inside Looking"):
        Looking().fit(X, Y)


def unscaled(rows, centre):
    return np.trunc((rows - centre) * 2**20) * 2**-20


def not_solved(objective, **_):
    return SimpleNamespace(point=np.zeros(objective.shape), gradient_bound=0.0, steps=0)


def slots_in_order(records, slots):
    starts = range(0, records, slots)
    found = [np.arange(start, min(start + slots, records)) for start in starts]
    return [(which, which - which[0]) for which in found]


def modules_with(name, replacement, *modules):
    return [(module, name, replacement) for module in modules]


def half_epsilon(kind):
    honest = kind.epsilon
    return [(kind, "epsilon", lambda self, *, delta: honest(self, delta=delta) / 2)]


def smaller_bound(function, share):
    """The bound, replaced where it is looked up."""
    return [(bounds, function, scaled(getattr(bounds, function), share))]


CHECKS = {
    "bounds.contrastive.embedding_moment": (
        one_record_moves_a_step_by_no_more_than_claimed,
        smaller_bound("embedding_moment", 0.9),
    ),
    "bounds.contrastive.embedding_correlation": (
        lambda: one_record_moves_a_step_by_no_more_than_claimed("barlow"),
        smaller_bound("embedding_correlation", 0.9),
    ),
    "bounds.sums.clipped_gradients": (
        one_record_moves_a_step_by_no_more_than_claimed,
        smaller_bound("clipped_gradients", 0.9),
    ),
    "bounds.contrastive.released_embeddings": (
        embeddings_of_a_batch_move_within,
        smaller_bound("released_embeddings", 0.9),
    ),
    "bounds.contrastive.clipped_similarity_sum": (
        clipped_pairs_move_within,
        smaller_bound("clipped_similarity_sum", 0.1),
    ),
    "training.gradients.pair_sum.pair_sum": (
        clipped_pairs_move_within,
        modules_with("pair_sum", unclipped, pair_module),
    ),
    "training.gradients.pair_sum.check_jacobians": (
        derivatives_by_others_are_refused,
        modules_with("check_jacobians", lambda *_: None, pair_module),
    ),
    "training.gradients.check.check_gradients": (
        coupled_losses_are_refused,
        modules_with("check_gradients", lambda *_: None, batch_sum),
    ),
    "training.gradients.check.check_slots": (
        gradients_by_place_are_refused,
        modules_with("check_slots", lambda *_: None, batch_sum),
    ),
    "training.gradients.batches.secret_slots": (
        records_stand_in_random_slots,
        modules_with("secret_slots", slots_in_order, batches),
    ),
    "training.gradients.check.check_outputs": (
        outputs_by_place_are_refused,
        modules_with("check_outputs", lambda *_: None, shared_sum),
    ),
    "protect.noisy_query.sampled_records": (
        samples_are_coins,
        modules_with("sampled_records", everyone, noisy_query),
    ),
    "protect.noisy_query.record_uniforms": (
        views_are_drawn_for_each_record,
        modules_with(
            "record_uniforms", lambda rows, labels, count: np.zeros((60, count)), noisy_query
        ),
    ),
    **{
        f"mechanisms.{name}.epsilon": (holds, half_epsilon(kind))
        for name, kind, holds in (
            ("gaussian.Gaussian", Gaussian, curve_holds(Gaussian)),
            (
                "additive.CoordinatewiseMechanism",
                CoordinatewiseMechanism,
                lambda: [curve_holds(kind)() for kind in (Laplace, Logistic)],
            ),
            ("selection.Exponential", Exponential, choice_curve_holds(Exponential)),
            (
                "pure.PureMechanism",
                PureMechanism,
                lambda: (choice_curve_holds(PermuteAndFlip)(), curve_holds(L2Laplace)()),
            ),
        )
    },
    **{
        f"mechanisms.{kind.__module__.split('.')[-1]}.{kind.__name__}._rounded": (
            rounded_holds(kind),
            [(kind, "_rounded", float_noise)],
        )
        for kind in (Gaussian, Laplace, Logistic, L2Laplace, MatrixLaplace, BlockL2Laplace)
    },
    **{
        f"mechanisms.selection.{kind.__name__}._argmax": (
            choice_varies(kind),
            [(kind, "_argmax", lambda self, scores: scores.argmax(axis=-1))],
        )
        for kind in (Exponential, PermuteAndFlip)
    },
    "randomness.SecureBits.words": (
        noise_is_fresh,
        [
            (
                SecureBits,
                "words",
                lambda self, count: np.random.default_rng(0).integers(
                    2**64, size=count, dtype=np.uint64
                ),
            )
        ],
    ),
    "bounds.heads.softmax_head": (
        pairs_hold("weights"),
        smaller_bound("softmax_head", 0.4),
    ),
    "bounds.heads.sigmoid_head": (
        pairs_hold("several labels"),
        smaller_bound("sigmoid_head", 0.4),
    ),
    "bounds.means.clipped_sum": (pairs_hold("mean"), smaller_bound("clipped_sum", 0.4)),
    "bounds.sums.rounded_sum": (
        pairs_hold("noisy-gradient"),
        smaller_bound("rounded_sum", 0.9),
    ),
    "bounds.statistics.class_statistics": (
        pairs_hold("class-means"),
        smaller_bound("class_statistics", 0.9),
    ),
    "bounds.moments.second_moment": (
        pairs_hold("prototypes"),
        smaller_bound("second_moment", 0.9),
    ),
    "bounds.moments.view_moments": (
        pairs_hold("closed-form"),
        smaller_bound("view_moments", 0.9),
    ),
    "bounds.statistics.target_statistics": (
        pairs_hold("adassp-regression"),
        smaller_bound("target_statistics", 0.6),
    ),
    "bounds.structured.class_counts": (
        pairs_hold("pure-class-means"),
        smaller_bound("class_counts", 0.9),
    ),
    "bounds.structured.separate_class_sums": (
        pairs_hold("pure-class-means"),
        smaller_bound("separate_class_sums", 0.9),
    ),
    "bounds.structured.joint_moment": (
        pairs_hold("matrix-lda"),
        smaller_bound("joint_moment", 0.9),
    ),
    "bounds.answers.SoftmaxAnswers": (
        pairs_hold("answers"),
        [(bounds.SoftmaxAnswers, "_moved", lambda self: 1e-300)],
    ),
    "training.features.public_map": (
        pairs_hold("weights"),
        modules_with(
            "public_map",
            lambda rows, **options: 4 * public_map(rows, **options),
            linear_head,
        ),
    ),
    "training.optimum.certified_minimum": (
        gradient_is_small,
        modules_with("certified_minimum", not_solved, linear_head),
    ),
    "training.linear_head.LinearHead.certified": (
        changed_heads_are_refused,
        [(linear_head.LinearHead, "certified", lambda self: linear_head._FITS[self])],
    ),
    "protect.certified_head.refuse_other_head": (
        other_heads_are_refused,
        modules_with("refuse_other_head", lambda *_: None, certified_head),
    ),
    "training.softmax.zero_sum_basis": (
        zero_sums,
        modules_with(
            "zero_sum_basis",
            lambda classes: np.eye(classes)[:, 1:],
            softmax,
        ),
    ),
    "protect.recipes.mean.exact_sum": (
        pairs_hold("mean"),
        modules_with(
            "exact_sum",
            lambda rows, bound: np.clip(rows, -1e100, 1e100).sum(axis=0),
            mean_module,
        ),
    ),
    "protect.answers.counting.AnswerCounter.take": (
        no_more_answers_than_planned,
        [(answers_module.AnswerCounter, "take", lambda self, count: None)],
    ),
    "ledger.answer_book.AnswerBook.ask": (
        every_answer_is_in_the_ledger,
        [(AnswerBook, "ask", answer_uncharged)],
    ),
    "protect.noisy_query.noisy_rows": (
        answers_differ,
        modules_with("noisy_rows", lambda noise, values: values, answers_module),
    ),
    "protect.answers.plan.AnswerPlan.one_answer_epsilon": (
        one_answer_costs_the_mean,
        [
            (
                AnswerPlan,
                "one_answer_epsilon",
                property(lambda self: self.noise.epsilon(delta=self.delta)),
            )
        ],
    ),
    "protect.answers.plan.AnswerPlan.require_enough": (
        plans_with_less_noise_are_refused,
        [(AnswerPlan, "require_enough", lambda self: None)],
    ),
    "protect.noise_scales.composed_epsilon": (
        plans_with_less_noise_have_no_claim,
        modules_with("composed_epsilon", lambda plan, *, relation, delta: 0.1, noise_scales),
    ),
    "protect.recipes.exact_rows.unit_rows": (
        pairs_hold("class-means"),
        modules_with(
            "unit_rows", lambda rows, centre: unscaled(np.clip(rows, -1e9, 1e9), centre), statistics
        ),
    ),
    "protect.noisy_query.noisy_query": (
        fits_differ,
        modules_with("noisy_query", lambda noise, value, **_: value, recipe),
    ),
    "protect.release.released_by": (
        estimators_around_are_refused,
        modules_with("enclosing", lambda *_: Enclosing(), public_step),
    ),
    "bounds.votes.record_lines": (lines_move_within, smaller_bound("record_lines", 0.5)),
    "bounds.votes.row_lines": (split_lines_move_within, smaller_bound("row_lines", 0.9)),
    "bounds.votes.label_lines": (split_lines_move_within, smaller_bound("label_lines", 0.9)),
    "mechanisms.response.RandomisedResponse._rounded": (
        labels_vary,
        [(RandomisedResponse, "_rounded", lambda self, value, grid: value)],
    ),
    "protect.recipes.input.lines": (
        lines_move_within,
        modules_with(
            "lines",
            lambda rows, labels, *, count, classes: np.resize(rows[-5:], (count, 8)),
            inputs_module,
        ),
    ),
    "bounds.votes.teacher_votes": (votes_move_within, smaller_bound("teacher_votes", 0.4)),
    "bounds.votes.largest_vote": (votes_move_within, smaller_bound("largest_vote", 0.4)),
    "protect.recipes.pate.teacher_of": (
        votes_move_within,
        modules_with(
            "teacher_of", lambda rows, labels, teachers: np.arange(len(rows)) % teachers, pate
        ),
    ),
    "bounds.objective.perturbed_gradient": (
        pairs_hold("objective"),
        smaller_bound("perturbed_gradient", 0.3),
    ),
    "bounds.objective.approximate_minimum": (
        minimum_is_near,
        smaller_bound("approximate_minimum", 1e-9),
    ),
    "protect.noisy_query.implicit_noise": (
        minima_differ,
        modules_with("implicit_noise", lambda noise, query, *, grid: np.zeros(query.shape), recipe),
    ),
    "protect.recipes.functional.centred_rows": (
        pairs_hold("functional"),
        modules_with(
            "centred_rows",
            lambda unit, mean, intercept: np.column_stack(
                [3 * unit, np.full(len(unit), intercept)]
            ),
            functional,
        ),
    ),
    "protect.recipes.regression.within": (
        pairs_hold("adassp-regression"),
        modules_with("within", lambda rows, bound: np.clip(rows, -1e9, 1e9), regression),
    ),
}


def check_of(line):
    """The function that a checked line names; it must exist."""
    parts = name_of_check(line).split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            checked = importlib.import_module(".".join(("reticent", *parts[:length])))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[length:], checked)
    raise LookupError(line)


def test_every_line_names_a_function_that_has_a_test(monkeypatch):
    monkeypatch.setattr(network_run, "_EXAMPLES", 8)  # how many serve a check is no part of a line
    found = lines()
    assert all(check_of(line) is not None for line in found)
    assert {name_of_check(line) for line in found} == set(CHECKS)


@pytest.mark.slow
def test_lines_of_networks_from_heads_have_tests(tmp_path, monkeypatch):
    monkeypatch.setattr(network_run, "_EXAMPLES", 8)
    own, head, started, both = networks_from_heads(tmp_path)
    named = {name_of_check(line) for claim in (own, started, both) for line in claim.checked}
    assert named <= set(CHECKS)
    assert {"bounds.sums.rounded_sum", "bounds.sums.clipped_gradients"} <= named
    assert set(both.checked) == {*head.checked, *started.checked}


def test_both_together_rest_on_the_lines_of_each():
    encoder, head, both = encoder_and_head()
    assert set(both.checked) == {*encoder.checked, *head.checked}
    assert both.epsilon > max(encoder.epsilon, head.epsilon)


def test_lines_without_a_function_are_refused():
    with pytest.raises(InputError, match="must end with the function"):
        name_of_check("the noise is good")
    with pytest.raises((LookupError, AttributeError)):
        check_of(checked_by("the noise is good", "protect.noise.no_such_function"))


@functools.cache
def passes(test):
    """Once, where several checks have the same test."""
    test()


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_a_broken_check_is_found(monkeypatch, name):
    test, broken = CHECKS[name]
    passes(test)
    for owner, attribute, replacement in broken:
        monkeypatch.setattr(owner, attribute, replacement)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test()

"""Every bound is the formula of docs/theory.md, in 40 digits, rounded up and by no more than 1e-9.

The formulas are written down a second time, with every term that rounding adds: a bound that lost
one of them, or is a thousandth off, is found here even where no records come near it.
"""

from itertools import product

import mpmath
import pytest
from mpmath import mpf

from reticent import bounds
from reticent.bounds.published import dpcl, lu
from reticent.validation import InputError

RELATIONS = {"add-remove": 1, "replace-one": 2}
UNIT = mpf(2) ** -53
MOST_RECORDS = 2**53


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(40):
        yield


def close_above(found, exact):
    """At least the exact value, and hardly more."""
    assert exact <= mpf(found) <= exact * (1 + mpf(1e-9))


def gamma(operations):
    return operations * UNIT / (1 - operations * UNIT)


@pytest.mark.parametrize(("relation", "touched"), RELATIONS.items())
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize(
    "numbers", [(0.02, 200, 1.5, 1e-9), (3.0, 2, 17.0, 0.25), (1e-7, 10**9, 1e-3, 1e-12)]
)
def test_heads(relation, touched, each, numbers):
    """Theory D: Δ₂ = k·m·s·R/(λN) + 2τ/λ with s = √2·w for softmax and √C for sigmoid."""
    penalty, records, radius, tolerance = numbers
    public = {"penalty": penalty, "records": records, "radius": radius, "tolerance": tolerance}
    terms = {"relation": relation, "max_records_per_person": each}
    for weight in (1.0, 2.5):
        found = bounds.softmax_head(**public, **terms, largest_weight=weight)
        moved = touched * each * weight * mpmath.sqrt(2) * radius / (mpf(penalty) * records)
        close_above(found.l2, moved + 2 * mpf(tolerance) / penalty)
    for labels in (1, 2, 7):
        found = bounds.sigmoid_head(labels=labels, **public, **terms)
        moved = touched * each * mpmath.sqrt(labels) * radius / (mpf(penalty) * records)
        close_above(found.l2, moved + 2 * mpf(tolerance) / penalty)


def head(**changes):
    public = {"penalty": 0.1, "records": 10, "radius": 1.0, "tolerance": 1e-6}
    return bounds.softmax_head(**(public | {"relation": "add-remove"} | changes))


def test_heads_end_where_floats_would():
    for name in ("penalty", "radius"):
        head(**{name: 1.1e-80}), head(**{name: 0.9e80})
        for wrong in (1e-80, 1e80):
            with pytest.raises(InputError, match=f"{name} must be within"):
                head(**{name: wrong})
    for name in ("records", "max_records_per_person"):
        head(**{name: MOST_RECORDS})
        with pytest.raises(InputError, match=f"{name} must be <= 2"):
            head(**{name: MOST_RECORDS + 1})


@pytest.mark.parametrize(("relation", "touched"), RELATIONS.items())
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize(("bound", "size"), [(1.0, 1), (0.1, 7), (30.0, 400)])
def test_sums(relation, touched, each, bound, size):
    """k·m·b, in L1 √size times it, and what rounding adds: theory F13 and E.2."""
    terms = {"relation": relation, "max_records_per_person": each}
    clipped = bounds.clipped_sum(bound=bound, features=size, **terms)
    close_above(clipped.l2, touched * each * mpf(bound))
    close_above(clipped.l1, mpmath.sqrt(size) * mpf(clipped.l2))
    for records, error in product((10, 10**6, 10**9), (0.0, 1e-9, 0.5)):
        found = bounds.rounded_sum(
            "a sum", bound=bound, size=size, records=records, term_error=error, **terms
        )
        rounding = 2 * 2 * records * (gamma(2 * records) * bound + mpf(error))
        close_above(found.l2, touched * each * mpf(bound) + rounding)
        close_above(found.l1, mpmath.sqrt(size) * mpf(found.l2))


WEIGHTS = [
    (0.0, 1.0, 0.0), (0.0, 1.0, 0.25), (0.0, 1.0, 3.0), (1.0, 2.0, 0.25), (1.0, 2.0, 2.0),
    (1.0, 2.0, 2.5), (4.0, 1.0, 0.1), (1.0, 1.0, 0.5), (0.1, 1.0, 5.1), (2.0, 0.5, 4.0),
]  # fmt: skip


def statistics_moved(kind, relation, alpha, beta, nu):
    """Theory E.3, without rounding: one record in L2."""
    if relation == "add-remove":
        return mpmath.sqrt(alpha**2 + beta**2 + nu**2)
    if kind == "class":
        apart = 2 * alpha**2 + max(4 * beta**2, 2 * beta**2 + 2 * nu**2)
    else:
        apart = 2 * alpha**2 + 4 * beta**2 + 4 * nu**2
    ways = [mpmath.sqrt(apart)]
    if alpha > 0:
        square = beta**2 / (2 * alpha)  # a²
        if kind == "class" and nu <= square:
            ways.append(mpmath.sqrt(2) * (alpha + square))
        if kind == "target":  # √2·a·b = ν
            ways.append(mpmath.sqrt(2) * (alpha + square + nu**2 / (2 * square)))
    return min(ways)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("features", "records"), [(1, 10), (30, 10**5), (4, 10**10)])
def test_statistics(relation, each, weights, features, records):
    """In L1 a record adds at most α·√(d(d+1)/2) + β·√d + ν: each part by Cauchy and Schwarz."""
    alpha, beta, nu = map(mpf, weights)
    entries = mpmath.sqrt(features * (features + 1) // 2)
    most = 2 * records
    for kind, rounded in (("class", alpha), ("target", alpha + beta)):
        names = {"class": ("moment", "sums", "counts"), "target": ("moment", "products", "targets")}
        theorem = {"class": bounds.class_statistics, "target": bounds.target_statistics}[kind]
        found = theorem(
            **dict(zip(names[kind], weights, strict=True)),
            features=features,
            records=records,
            relation=relation,
            max_records_per_person=each,
        )
        rounding = 2 * most * (mpf(most) / 2**12 + 4) * UNIT * rounded
        one = statistics_moved(kind, relation, alpha, beta, nu)
        close_above(found.l2, each * one + rounding)
        all_parts = alpha * entries + beta * mpmath.sqrt(features) + nu
        close_above(found.l1, RELATIONS[relation] * each * all_parts + entries * rounding)


@pytest.mark.parametrize(("relation", "touched"), RELATIONS.items())
@pytest.mark.parametrize(
    "numbers",
    [
        (2, 4, 0.01, 1.0, 1.0),
        (3, 10**6, 1e-6, 2.0, 1.5),
        (10, 785, 0.3, 0.5, 1.0),
        (7, 2**40, 1e-3, 1.0, 2.0),
        (2**12, 2**36, 1e-9, 5.0, 1.0),
        (2**40, 2, 1e-3, 1.0, 1.0),
    ],
)
def test_answers(relation, touched, numbers):
    """Theory D.6: B = Δ·R in each norm, and twice what floats can add to a product."""
    classes, features, penalty, radius, weight = numbers
    records, tolerance, each = 1000, 1e-7, 2
    found = bounds.SoftmaxAnswers(
        classes=classes,
        features=features,
        penalty=penalty,
        records=records,
        radius=radius,
        tolerance=tolerance,
        relation=relation,
        largest_weight=weight,
        max_records_per_person=each,
    )
    C, root = mpf(classes), mpmath.sqrt(classes)
    steep = mpf(weight) * mpmath.sqrt(2) * radius / penalty
    moved = (touched * each * steep / records + 2 * mpf(tolerance) / penalty) * radius
    longest = min(2 * steep, mpmath.sqrt(4 * mpf(weight) * mpmath.log(C) / penalty))
    reach = radius * (longest + mpf(tolerance) / penalty)
    coordinates_off = mpf(1.01) * gamma(features) * reach
    all_off = 2 * (coordinates_off + mpf(1.01) * gamma(classes) * root * reach)
    basis = moved * (1 + C * mpf(2) ** -50)
    steepest = root if classes % 2 == 0 else mpmath.sqrt(C - 1 / C)
    logits, coordinates = found.logits(), found.coordinates()
    close_above(logits.l2, basis + all_off)
    close_above(logits.l1, steepest * basis + root * all_off)
    close_above(logits.linf, mpmath.sqrt((C - 1) / C) * basis + all_off)
    close_above(coordinates.l2, moved + 2 * coordinates_off)
    close_above(coordinates.linf, moved + 2 * coordinates_off)
    close_above(coordinates.l1, mpmath.sqrt(C - 1) * (moved + 2 * coordinates_off))


def test_answers_have_at_most_so_many_classes_and_features():
    public = {"penalty": 0.1, "records": 10, "radius": 1.0, "tolerance": 1e-6}
    sizes = {"classes": 2, "features": 1, "relation": "add-remove"}
    for name in ("classes", "features"):
        bounds.SoftmaxAnswers(**public, **(sizes | {name: 2**40}))
        with pytest.raises(InputError, match=f"{name} must be <= 2"):
            bounds.SoftmaxAnswers(**public, **(sizes | {name: 2**40 + 1}))


# --- as papers print them -------------------------------------------------------------------------


def near(found, exact):
    assert found == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("value", [1e-3, 0.1, 0.3, 0.9, 2.0])
def test_changes_of_lu(value):
    x = mpf(value)
    near(lu.probability_change(value), min(mpmath.expm1(2 * x), 1))
    near(lu.bracketed_change(value), mpmath.expm1(2 * x))
    near(lu.tight_probability_change(value), mpmath.tanh(x / 2))
    near(lu.score_change_of_proof(value), mpmath.exp(x))
    near(lu.leakage_bound(value), mpmath.expm1(x))
    near(lu.tight_leakage_bound(value), mpmath.tanh(x / 2))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_constants_of_lu(classes):
    near(lu.laplace_part(1.5, classes), mpf(1.5) / (2 * classes + 1))
    near(lu.gaussian_part(1.5, classes), mpf(1.5) / mpmath.sqrt(4 * classes + 1))
    sizes = mpmath.sqrt(600) * mpf(0.7) * mpmath.sqrt(128) * mpf(0.7)
    near(lu.lipschitz_constant(classes, (600, 128), 0.7), mpf(classes - 1) / classes * sizes / 128)
    near(lu.weights_change(1.3, 0.02, 500), 2 * mpf(1.3) / (mpf(0.02) * 500))
    near(lu.average_stability(1.3, 0.02, 500), 2 * mpf(1.3) ** 2 / (mpf(0.02) * 500))
    near(lu.weight_change(0.3, 50), mpf(0.3) / mpmath.sqrt(50))
    near(lu.neuron_change(0.3, 50), 50 * mpf(0.3))
    near(lu.neuron_change(0.3, 50, 2.0), 100 * mpf(0.3))
    for part in (lu.laplace_part, lu.gaussian_part):
        with pytest.raises(InputError, match="classes must be >= 2"):
            part(1.5, 1)


def test_sensitivities_of_dpcl():
    for batch in (1, 2, 64):
        near(dpcl.similarity_sensitivity(batch), 4 * mpmath.sqrt(2 * batch - 1))
        near(dpcl.naive_gradient_sensitivity(batch, 0.3), 4 * batch * mpf(0.3))
    near(dpcl.gradient_sensitivity(0.3), 4 * mpf(0.3))
    with pytest.raises(InputError, match="batch must be >= 2"):
        dpcl.turned_pair(1)

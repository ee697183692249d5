"""``--fail-above``: which figure is compared with which limit."""

from types import SimpleNamespace

import pytest

from reticent.audit import Measured
from reticent.results.gate import (
    attack_limits_of,
    exceeded,
    exceeded_by_attacks,
    in_one_line,
    limit_of,
    limits_of,
)
from reticent.validation import InputError
from tests.report.sample import sample_results


def just(figure, change):
    """A limit a hair below or above the low end of a figure's interval."""
    return figure.low + change


def test_a_limit_is_read_as_it_is_printed():
    for text in (
        "auc=0.55",
        "tpr@0.001=0.05",
        "leakage=-0.1",
        "loss=0.07",
        "recall-loss=0.3",
        "epsilon=2",
    ):
        assert str(limit_of(text)) == text
    assert limit_of(".6") == limit_of("auc=0.6") == limit_of(" auc = 0.6")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be such as auc=0.55, got ''"),
        ("auc=", "must be such as auc=0.55"),
        ("auc=high", "must be such as auc=0.55"),
        ("auc=nan", "must be finite"),
        ("auc=1.5", "auc must be in [0, 1], got 1.5"),
        ("leakage=-2", "leakage must be in [-1, 1]"),
        ("epsilon=-1", "epsilon must be >= 0"),
        ("epsilon=inf", "must be finite"),
        (
            "accuracy=0.5",
            "must be of auc, balanced-accuracy, leakage, tpr@FPR, loss, balanced-loss, recall-loss",
        ),
        ("tpr=0.5", "got 'tpr'"),
        ("auc@0.1=0.5", "got 'auc@0.1'"),
        ("tpr@=0.5", "must be such as auc=0.55"),
        ("tpr@1=0.5", "must be in (0, 1)"),
    ],
)
def test_a_wrong_limit_is_one_line(text, message):
    with pytest.raises(InputError) as refused:
        limit_of(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_figure_has_one_limit():
    assert len(limits_of(["auc=0.5", "tpr@0.01=0.1", "tpr@0.001=0.1"])) == 3
    with pytest.raises(InputError, match=r"got tpr@0\.01 twice"):
        limits_of(["tpr@0.01=0.1", "tpr@.01=0.2"])


def test_attacks_have_neither_loss_nor_epsilon_and_two_rates():
    assert attack_limits_of(["tpr@0.01=0.1", "0.5"], fprs=(0.01,))
    for text in ("loss=0.1", "recall-loss=0.1", "balanced-loss=0.1", "epsilon=1", "tpr@0.02=0.1"):
        with pytest.raises(InputError):
            attack_limits_of([text], fprs=(0.01,))


@pytest.mark.parametrize("figure", ["auc", "balanced-accuracy", "leakage", "tpr@0.01", "loss"])
def test_the_low_end_is_compared(figure):
    results = sample_results()
    release = results.recommended
    attack = next(one for one in release.attacks if one.name == results.conclusion.attack)
    measured, of = {
        "auc": (attack.auc, attack.name),
        "balanced-accuracy": (attack.balanced_accuracy, attack.name),
        "leakage": (attack.leakage, attack.name),
        "tpr@0.01": (attack.rates[0].tpr, attack.name),
        "loss": (release.loss, release.name),
    }[figure]
    below, above = (
        exceeded(results, limits_of([f"{figure}={just(measured, change)}"]))
        for change in (-1e-6, 1e-6)
    )
    assert measured.low < measured.value
    assert (of, str(measured)) in [(one.of, one.shown) for one in below]
    assert of not in [one.of for one in above]


def test_attacks_on_another_release_are_judged_when_it_is_named():
    results = sample_results()
    loud = results.releases[-1]
    limits = limits_of(["auc=0.55"])
    assert exceeded(results, limits) == ()
    assert exceeded(results, limits, release=loud)


def test_epsilon_is_the_claim_itself():
    results = sample_results()  # recommends ε = 2
    assert exceeded(results, limits_of(["epsilon=2"])) == ()
    (excess,) = exceeded(results, limits_of(["epsilon=1.9999"]))
    assert excess.shown == "ε ≤ 2 (proven)"


def test_a_claim_that_does_not_hold_is_above_every_limit():
    results = sample_results()
    limits = limits_of(["epsilon=100"])
    refuted = next(one for one in results.releases if one.audit and one.audit.refuted_by)
    plain = next(
        one for one in results.releases if one.claim.grade == "published" and one.audit is None
    )
    sound = next(one for one in results.releases if one.claim.grade == "proven" and one.audit)
    assert exceeded(results, limits, release=sound) == ()
    assert "refuted by its audit" in exceeded(results, limits, release=refuted)[0].shown
    assert "known not to hold" in exceeded(results, limits, release=plain)[0].shown


def test_what_was_not_measured_does_not_pass():
    results = sample_results()
    found = exceeded(results, limits_of(["tpr@0.0001=1"]))
    assert {one.shown for one in found} == {"not measured"}
    assert len(found) == len(results.recommended.attacks)
    silent = results.recommended.model_copy(update={"attacks": ()})
    (nobody,) = exceeded(results, limits_of(["auc=1"]), release=silent)
    assert nobody.of == "no attack"
    assert in_one_line([nobody]) == "auc=1 not met: no attack measured it"


def test_what_was_not_measured_is_not_said_to_be_above():
    silent, loud = report(0.5), report(0.6)
    silent.tpr_at_fpr = {}
    attacked = SimpleNamespace(reports={"loss": silent, "gap": loud})
    assert in_one_line(exceeded_by_attacks(attacked, limits_of(["tpr@0.01=0.1"]))) == (
        "tpr@0.01=0.1 not met: loss not measured; above tpr@0.01=0.1: gap 0.700 [0.600, 0.800]"
    )


def report(low):
    figure = Measured(value=low + 0.1, low=low, high=low + 0.2, confidence=0.95)
    return SimpleNamespace(
        auc=figure, balanced_accuracy=figure, leakage=figure, tpr_at_fpr={0.01: figure}
    )


@pytest.mark.parametrize("figure", ["auc", "balanced-accuracy", "leakage", "tpr@0.01"])
def test_attacks_on_one_model(figure):
    attacked = SimpleNamespace(reports={"weak": report(0.5), "strong": report(0.6)})
    found = exceeded_by_attacks(attacked, limits_of([f"{figure}=0.55"]))
    assert [(one.of, one.shown) for one in found] == [("strong", "0.700 [0.600, 0.800]")]
    assert len(exceeded_by_attacks(attacked, limits_of([f"{figure}=0.4"]))) == 2
    assert exceeded_by_attacks(attacked, limits_of([f"{figure}=0.6"])) == ()


def test_one_line_names_all_of_it():
    attacked = SimpleNamespace(reports={"weak\nattack": report(0.5), "strong": report(0.6)})
    found = exceeded_by_attacks(attacked, limits_of(["auc=0.4", "leakage=0.55"]))
    assert in_one_line(found) == (
        "above auc=0.4: weak attack 0.600 [0.500, 0.700], strong 0.700 [0.600, 0.800];"
        " above leakage=0.55: strong 0.700 [0.600, 0.800]"
    )


@pytest.mark.parametrize(
    ("figure", "low", "shown"),
    [
        ("auc", 0.2, "0.300 [0.200, 0.400], turned round"),
        ("balanced-accuracy", 0.2, "0.300 [0.200, 0.400], turned round"),
        ("leakage", -0.8, "-0.700 [-0.800, -0.600], turned round"),
    ],
)
def test_an_attack_that_is_wrong_most_of_the_time_leaks_too(figure, low, shown):
    attacked = SimpleNamespace(reports={"contrary": report(low)})
    (found,) = exceeded_by_attacks(attacked, limits_of([f"{figure}=0.59"]))
    assert found.shown == shown
    assert exceeded_by_attacks(attacked, limits_of([f"{figure}=0.61"])) == ()

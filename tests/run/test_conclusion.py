"""The verdict: its words agree with the figures, in every case that can come."""

import math

import numpy as np
import pytest
from scipy import stats

from reticent.audit import ceiling
from reticent.run.conclusion import HALF_WIDTH, allowed_auc, attack_named, concluded, records_for
from tests.report.sample import CHOSEN, interval, sample_results

SAMPLE = sample_results()
STRENGTHS = {CHOSEN: 0.71, "loss": 0.6}
"""Strongest first, as they come from shadow targets."""


def with_auc(attacks, value, half, *, name=CHOSEN):
    """The attacks, one of them with this AUC; no other finds anything."""
    found = []
    for one in attacks:
        own, wide = (value, half) if one.name == name else (0.5, 0.01)
        area = interval(own, wide, confidence=0.99)
        found.append(one.model_copy(update={"auc": area, "leaks": area.low > 0.5}))
    return tuple(found)


def judged(before, after, *, half=0.01, release=SAMPLE.recommended, name=CHOSEN, **more):
    """The conclusion for these AUCs."""
    return concluded(
        SAMPLE.unprotected.model_copy(
            update={"attacks": with_auc(SAMPLE.unprotected.attacks, before, 0.01)}
        ),
        release.model_copy(update={"attacks": with_auc(release.attacks, after, half, name=name)}),
        (),
        STRENGTHS,
        **more,
    )


ALLOWED = allowed_auc(SAMPLE.recommended)  # 0.639 for ε = 2
REPLACING = SAMPLE.recommended.model_copy(
    update={"claim": SAMPLE.recommended.claim.model_copy(update={"relation": "replace-one"})}
)
LOSING = SAMPLE.recommended.model_copy(
    update={
        "by_class": SAMPLE.recommended.by_class.model_copy(
            update={
                "recalls": tuple(
                    one.model_copy(
                        update={"recall": interval(0.1, 0.05), "loss": interval(0.9, 0.1)}
                    )
                    if one.label == "7"
                    else one
                    for one in SAMPLE.recommended.by_class.recalls
                )
            }
        )
    }
)
"""One class of ten is hardly found any more."""
PROMISE = "release with ε ≤ 2 (proven)"
NOW = "Published as it is, this model tells who was in its training data; "


class TestHeadline:
    def test_records_of_two_kinds_are_said_before_the_verdict(self):
        two = "members and others are records of two kinds: AUC 0.7"
        found, fair = judged(0.7, 0.5, two_kinds=two), judged(0.7, 0.5)
        assert found.headline == f"Not a fair test: {two}. Read with that: {fair.headline}"

    def test_not_to_publish_stays_first(self):
        """Public pages are refused by how a headline begins."""
        found = judged(0.7, 0.9, two_kinds="records of two kinds")
        assert found.headline.startswith("Do not publish: ")
        assert found.headline.endswith("Not a fair test: records of two kinds.")

    def test_a_lost_class_is_warned_of_behind_the_verdict(self):
        plain, lost = judged(0.7, 0.5), judged(0.7, 0.5, release=LOSING)
        warning = "Warning: protection costs more than half of the recall of class 7 (0.948 → 0.1"
        assert lost.headline.startswith(f"{plain.headline} {warning}")
        assert any("Most is lost for class 7: 90.0 %" in line for line in lost.sentences)
        forbidden = judged(0.7, 0.9, release=LOSING)
        assert forbidden.headline.startswith("Do not publish: ")
        assert warning in forbidden.headline

    def test_a_leak_before_and_none_after(self):
        found = judged(0.7, 0.5)
        assert found.headline == f"{NOW}from the {PROMISE} no attack that was tried could tell."
        assert found.enough
        assert found.records_needed is None

    def test_less_after_within_what_is_allowed(self):
        found = judged(0.7, 0.56)
        assert found.headline.startswith(f"{NOW}the {PROMISE} tells less, within")
        assert f"(AUC {ALLOWED:.3f})" in found.headline

    def test_not_less_after(self):
        assert f"{NOW}the {PROMISE} tells it too, within" in judged(0.57, 0.575).headline

    def test_a_leak_after_alone(self):
        found = judged(0.5, 0.56)
        assert found.headline.startswith(f"The {PROMISE} tells who was in its training data,")
        assert "as it is" not in found.headline

    def test_more_than_is_allowed(self):
        """One record stands for another in the attacks: one step of replace-one."""
        found = judged(0.75, 0.7, release=REPLACING)
        assert found.headline == (
            f"Do not publish: an attack gets more out of the {PROMISE} than it allows: the claim is"
            " wrong, or the other records are not of the private ones' kind."
        )
        held = judged(0.75, ALLOWED + 0.005, release=REPLACING)  # its interval holds the limit
        assert f"tells less, within what its guarantee allows (AUC {ALLOWED:.3f})" in held.headline

    def test_adding_and_removing_are_two_steps(self):
        twice = allowed_auc(SAMPLE.recommended, steps=2)
        found = judged(0.9, 0.7)
        assert found.headline.endswith(
            f"its guarantee allows (AUC {twice:.3f} for one record in place of another)."
        )
        (line,) = (one for one in found.sentences if "than its guarantee allows" in one)
        assert f"added or removed (AUC 0.700 [0.690, 0.710], at most {ALLOWED:.3f})" in line
        assert f"in place of another (at most {twice:.3f})" in line
        assert "not drawn alike" in line
        (line,) = (one for one in found.sentences if "leaves no attack more than" in one)
        assert f"{ALLOWED:.3f} for one record added or removed, and {twice:.3f} for one" in line
        assert judged(0.9, twice + 0.011).headline.startswith("Do not publish: an attack gets more")
        assert "Do not" not in judged(0.9, twice + 0.009).headline

    def test_another_attack_than_the_chosen_one_finds_more_than_is_allowed(self):
        found = judged(0.75, 0.7, name="loss", release=REPLACING)
        assert found.headline.startswith("Do not publish")

    def test_another_attack_than_the_chosen_one_finds_a_leak(self):
        found = judged(0.7, 0.56, name="loss")
        assert f"{NOW}the {PROMISE} tells less, within" in found.headline
        assert any(line.startswith("On it loss (black box") for line in found.sentences)
        assert not any(line.startswith("On it") for line in judged(0.7, 0.56).sentences)

    def test_none_at_all(self):
        found = judged(0.5, 0.5)
        assert found.headline.startswith("No leak was found, before protection or after it; the")
        assert PROMISE in found.headline

    @pytest.mark.parametrize("before", [0.5, 0.7])
    def test_too_few_records(self, before):
        found = judged(before, 0.5, half=0.031)
        start, letter = (NOW, "t") if before > 0.5 else ("", "T")
        assert found.headline == (f"{start}{letter}oo few records to say what the {PROMISE} tells.")
        assert not found.enough
        assert found.records_needed == records_for(HALF_WIDTH, 0.99)
        (line,) = (line for line in found.sentences if line.startswith("Too few records"))
        assert "±0.031" in line
        assert f"about {found.records_needed:,} of each" in line

    def test_a_leak_that_is_seen_needs_no_more_records(self):
        found = judged(0.7, 0.6, half=0.05)
        assert found.enough
        assert "too few" not in found.headline.lower()
        assert not any("oo few records" in line for line in found.sentences)

    def test_a_refuted_claim(self):
        refuted = next(one for one in SAMPLE.releases if one.audit and one.audit.refuted_by)
        release = SAMPLE.recommended.model_copy(update={"audit": refuted.audit})
        found = judged(0.7, 0.5, release=release)
        assert found.headline == f"Do not publish: the audit refuted the {PROMISE}."


class TestSentences:
    def test_each_figure_is_the_one_of_the_rows(self):
        notes = ("Something else.",)
        found = concluded(SAMPLE.unprotected, SAMPLE.recommended, (), STRENGTHS, notes)
        text, release = " ".join(found.sentences), SAMPLE.recommended
        before = attack_named(SAMPLE.unprotected.attacks, CHOSEN).auc
        after = attack_named(release.attacks, CHOSEN).auc
        assert (found.attack, found.before, found.after) == (CHOSEN, before, after)
        assert f"Of 2 black-box attacks {CHOSEN} was the strongest" in text
        assert "(mean AUC 0.710)" in text
        assert f"members from others, AUC {before} (0.5 is guessing)." in text
        assert f"AUC {after} (0.5 is guessing). Its guarantee leaves no attack" in text
        assert f"no attack more than {ALLOWED:.3f}." in text
        assert (
            f"accuracy {SAMPLE.unprotected.accuracy.value:.3f} becomes"
            f" {release.accuracy.value:.3f}, a utility loss of {100 * release.loss.value:.1f} %"
            in text
        )
        assert release.claim.text in text
        assert found.sentences[-1] == "Something else."

    @pytest.mark.parametrize(("auc", "seen"), [(0.5, False), (0.509, False), (0.512, True)])
    def test_the_chosen_attack_is_told_by_its_interval(self, auc, seen):
        line = next(one for one in judged(auc, 0.5).sentences if one.startswith("Without"))
        assert ("tells members from others" in line) == seen
        assert ("was not seen to do better than guessing" in line) != seen

    def test_the_audits_of_others_are_told(self):
        published = tuple(one for one in SAMPLE.releases if one.audit and one.audit.refuted_by)
        found = concluded(SAMPLE.unprotected, SAMPLE.recommended, published, STRENGTHS)
        for release in published:
            start = f"Audit of {release.name}: refuted by the {release.audit.refuted_by}; measured"
            assert any(line.startswith(start) for line in found.sentences)

    def test_the_strongest_on_shadow_targets_is_judged_by(self):
        found = concluded(SAMPLE.unprotected, SAMPLE.recommended, (), {"loss": 0.9, CHOSEN: 0.6})
        assert found.attack == "loss"
        assert found.before == attack_named(SAMPLE.unprotected.attacks, "loss").auc


class TestAllowed:
    def allowed(self, epsilon, delta, mechanism):
        release = SAMPLE.recommended
        claim = release.claim.model_copy(update={"epsilon": epsilon, "delta": delta})
        return allowed_auc(release.model_copy(update={"claim": claim, "mechanism": mechanism}))

    def test_gaussian_noise(self):
        assert self.allowed(1.0, 1e-5, "gaussian") == pytest.approx(0.575, abs=5e-4)

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
    def test_gaussian_noise_has_the_area_under_its_own_curve(self, epsilon):
        """μ by its definition δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
        area = self.allowed(epsilon, 1e-5, "gaussian")
        shift = math.sqrt(2) * stats.norm.ppf(area)
        delta = stats.norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * stats.norm.cdf(
            -shift / 2 - epsilon / shift
        )
        assert delta == pytest.approx(1e-5, rel=1e-6)

    @pytest.mark.parametrize("epsilon", [1e-3, 1.0, 3.0, 20.0, 2000.0])
    def test_pure_epsilon_leaves_the_area_under_its_two_lines(self, epsilon):
        assert self.allowed(epsilon, 0.0, "laplace") == pytest.approx(1 / (1 + math.exp(-epsilon)))

    @pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.2), (0.0, 0.3), (5.0, 0.5)])
    def test_it_is_the_area_under_the_ceiling(self, epsilon, delta):
        rates = np.linspace(0.0, 1.0, 200_001)
        area = np.trapezoid(ceiling(rates, epsilon=epsilon, delta=delta), rates)
        assert self.allowed(epsilon, delta, "logistic") == pytest.approx(area, abs=1e-6)

    @pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
    @pytest.mark.parametrize("delta", [1e-5, 0.01])
    def test_two_steps_leave_more(self, mechanism, delta):
        claim = SAMPLE.recommended.claim.model_copy(update={"epsilon": 1.0, "delta": delta})
        release = SAMPLE.recommended.model_copy(update={"claim": claim, "mechanism": mechanism})
        once, twice = (allowed_auc(release, steps=steps) for steps in (1, 2))
        if mechanism == "gaussian":
            assert stats.norm.ppf(twice) == pytest.approx(2 * stats.norm.ppf(once))
        else:
            group = ceiling(np.linspace(0, 1, 200_001), 2.0, delta * (1 + math.e))
            assert twice == pytest.approx(group[1:-1].mean(), abs=1e-5)

    def test_gaussian_noise_leaves_less_than_its_ceiling(self):
        assert self.allowed(1.0, 1e-5, "gaussian") < self.allowed(1.0, 1e-5, "laplace")


def test_it_says_that_nothing_was_chosen_by_results():
    assert any("by public numbers alone" in line for line in judged(0.7, 0.5).sentences)


def test_so_many_records_have_such_an_interval():
    """The variance of the AUC of n and n records of one law is (2n + 1)/(12 n²)."""
    for half, confidence in ((0.03, 0.95), (0.05, 0.99), (0.01, 0.9875)):
        found = records_for(half, confidence)
        wide = stats.norm.ppf((1 + confidence) / 2)
        assert wide * math.sqrt((2 * found + 1) / (12 * found**2)) == pytest.approx(half, rel=2e-3)
    assert records_for(0.03, 0.99) > records_for(0.03, 0.95)

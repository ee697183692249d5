"""The lecture's attacks, carried out where it is known what they must find.

A victim that knows 150 digits by heart, a fifth of their labels drawn, 150 others, and records of
the adversary's own; each attack must tell the two apart: AUC ``LEAST`` at least, and its interval
above .5. Whatever is drawn comes from fixed seeds, so that one package gives one answer.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from reticent import attacks, audit
from reticent.arrays import ArrayLike, Flags, Floats
from reticent.attacks import synthesis
from reticent.studies.index.entry import Held, Ours

LEAST: Final = 0.6
_INSIDE: Final = 150


class Scene(NamedTuple):
    """Who is attacked, with what, and who was in it."""

    victim: Any
    head: Any
    """As the victim was before it saw a record."""
    scored: attacks.Records
    member: Flags
    own: attacks.Records

    @property
    def inside(self) -> attacks.Records:
        """The victim's records."""
        return self.scored.take(self.member)


@cache
def scene() -> Scene:
    """Built once: dense networks of 32 units on 300 digits."""
    from reticent.data import load
    from reticent.training import MLPHead

    digits, rng = load("digits"), np.random.default_rng(0)
    order = rng.permutation(len(digits))[: 6 * _INSIDE]
    labels = np.asarray(digits.classes)[digits.labels][order]
    drawn = rng.random(len(order)) < 0.2
    labels[drawn] = rng.choice(digits.classes, drawn.sum())
    every = attacks.Records(digits.features[order].astype(float), labels)
    scored = every.take(np.arange(2 * _INSIDE))
    member = np.arange(2 * _INSIDE) < _INSIDE
    head = MLPHead(layers=2, width=32, penalty=0.0, steps=200, seed=0, classes=digits.classes)
    inside = scored.take(member)
    victim = MLPHead(**head.get_params()).fit(inside.inputs, inside.labels)
    return Scene(victim, head, scored, member, every.take(np.arange(2 * _INSIDE, len(order))))


@cache
def shadows() -> attacks.Shadows:
    """Four, of the adversary's own records."""
    return attacks.train_shadows(scene().head, scene().own, count=4, seed=1)


def told_apart(made: Mapping[str, Any]) -> Ours:
    """Attacks on the scene by name: each must find its members."""
    seen = scene()
    return _judged(
        {
            name: audit.measured_attack(one.scores(seen.victim, seen.scored), seen.member)
            for name, one in made.items()
        }
    )


def _judged(reports: Mapping[str, audit.AttackReport]) -> Ours:
    found = [one.auc.value >= LEAST and one.auc.low > 0.5 for one in reports.values()]
    words = ", ".join(f"{name} AUC {one.auc.value:.2f}" for name, one in reports.items())
    members = next(iter(reports.values())).members
    return Held(all(found), f"{words}; {members} members known by heart, {LEAST:g} asked")


def shadow_pipeline() -> Ours:
    """Shokri et al.: networks for each class on the answers of shadow models."""
    return told_apart({"shadow networks": attacks.ShokriAttack(shadows=shadows(), seed=0)})


def white_box() -> Ours:
    """Nasr et al.: a network on gradients, activations and losses."""
    return told_apart({"gradients": attacks.GradientAttack(shadows=shadows())})


def metrics() -> Ours:
    """Five numbers of an answer: right or not, loss, confidence, entropy, modified entropy."""
    kinds = ("loss", "confidence", "entropy", "modified-entropy")
    made = {name: attacks.MetricAttack(name) for name in kinds}
    return told_apart({"gap": attacks.GapAttack(), **made})


def first_adversaries() -> Ours:
    """Salem et al.: one shadow on the same kind of data, and one on other data and classes."""
    rng = np.random.default_rng(1)
    labels = np.arange(300) % 2
    drawn = np.where(rng.random(300) < 0.3, rng.integers(0, 2, 300), labels)
    rows = rng.normal(size=(300, 30)) + labels[:, None]
    head = scene().head
    other = type(head)(**head.get_params() | {"classes": None})
    elsewhere = attacks.train_shadows(other, attacks.Records(rows, drawn), count=1, seed=1)
    one, two = (
        attacks.SalemAttack(shadows=shadows().chosen([0]), data="same"),
        attacks.SalemAttack(shadows=elsewhere, data="other"),
    )
    return told_apart({"adversary 1": one, "adversary 2": two})


def third_adversary() -> Ours:
    """Salem et al.: a threshold from the answers to random inputs."""
    space = synthesis.FeatureSpace(np.zeros(64), np.ones(64))
    inputs = space.random(500, np.random.default_rng(2))
    return told_apart({"adversary 3": attacks.SalemThreshold(random_inputs=inputs)})


def few_false_positives() -> Ours:
    """LiRA, with shadows trained with and without each record: members without false alarms."""
    seen = scene()
    around = attacks.train_shadows(seen.head, seen.scored, count=16, seed=2)
    scores = attacks.Lira(shadows=around).scores(seen.victim, seen.scored)
    rate = audit.measured_attack(scores, seen.member, fprs=(0.1,)).tpr_at_fpr[0.1]
    return Held(rate.low > 0.1, f"TPR {rate.value:.2f} at 10 % FPR, above guessing by its interval")


def without_data() -> Ours:
    """Leino and Fredrikson: what the weights owe to the training records."""
    return told_apart({"displacement": attacks.DisplacementAttack(own=scene().own)})


class _Discriminator:
    """Tells the records of a generative model from samples that look like other real ones."""

    def __init__(self, records: Floats, samples: Floats) -> None:
        head = scene().head
        labels = np.arange(len(records) + len(samples)) < len(records)
        self._head = type(head)(**head.get_params() | {"classes": None})
        self._head.fit(np.concatenate([records, samples]), labels.astype(int))

    def log_odds(self, records: ArrayLike) -> Floats:
        """Of being a record, and no sample."""
        chances = np.clip(self._head.predict_proba(records), 1e-300, 1.0)
        odds: Floats = np.log(chances[:, 1]) - np.log(chances[:, 0])
        return odds


def discriminator() -> Ours:
    """Hayes et al.: a discriminator that has overfitted is surer of the records it learnt."""
    seen = scene()
    made = _Discriminator(seen.inside.inputs, seen.own.inputs[:_INSIDE])
    scores = attacks.DiscriminatorAttack().scores(made, seen.scored)
    return _judged({"discriminator": audit.measured_attack(scores, seen.member)})


def released_means() -> Ours:
    """Homer et al.: the mean of 50 rows of 400 bits lies closer to these than to 50 others."""
    genes = np.random.default_rng(1).integers(0, 2, size=(700, 400)).astype(float)
    study, rest, crowd = (
        attacks.Records(rows, np.zeros(len(rows))) for rows in np.split(genes, [50, 100])
    )
    homer = attacks.ReleasedMeansAttack(population=crowd)
    scores = homer.scores(attacks.Means.of(study), study.joined(rest))
    return _judged({"released mean": audit.measured_attack(scores, np.arange(100) < 50)})


def searched() -> Ours:
    """Algorithm 1: each record found is of the class asked for, surely enough for the target."""
    seen, rule = scene(), synthesis.Search(confidence=0.2)
    space = synthesis.FeatureSpace(np.zeros(64), np.ones(64))
    rng = np.random.default_rng(3)
    records = synthesis.synthesized(seen.victim, space=space, per_class=2, rng=rng, search=rule)
    answers = seen.victim.predict_proba(records.inputs)
    own = np.searchsorted(seen.victim.classes_, records.labels)
    sure = answers[np.arange(len(own)), own]
    held = (answers.argmax(axis=1) == own).all() and (sure > rule.confidence).all()
    return Held(bool(held), f"{len(own)} found, surer than {rule.confidence:g} of each class")


def from_statistics() -> Ours:
    """Each feature of a made record is one of a real record's of its class."""
    own, rng = scene().own, np.random.default_rng(4)
    made = synthesis.from_marginals(own, number=200, rng=rng)
    held = all(
        np.isin(row[feature], own.inputs[own.labels == label, feature])
        for row, label in zip(made.inputs, made.labels, strict=True)
        for feature in range(row.size)
    )
    new = not set(made.keys) & set(own.keys)
    return Held(held and new, "200 records: every feature of its class's records, no record real")


def noisy_real() -> Ours:
    """A tenth of the bits of each real record are flipped, and no others."""
    bits = np.random.default_rng(5).integers(0, 2, size=(100, 50)).astype(float)
    real = attacks.Records(bits, np.zeros(100))
    made = synthesis.noisy_real(
        real, share=0.1, space=synthesis.FeatureSpace.bits(50), rng=np.random.default_rng(6)
    )
    flipped = (made.inputs != bits).sum(axis=1)
    return Held(bool((flipped == 5).all()), "5 of 50 bits of each of 100 records are flipped")


def better_metrics() -> Ours:
    """A tenth of 1,000 members are plain and the rest hidden: the rate at few alarms sees it."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=2_000)
    values[:100] += 20
    threat = attacks.Threat(access=attacks.targets.Access.SCORES)
    scores = attacks.Scores(attack="built", threat=threat, values=values)
    report = audit.measured_attack(scores, np.arange(2_000) < 1_000)
    rate, accuracy = report.tpr_at_fpr[0.01], report.balanced_accuracy
    words = f"TPR {rate.value:.2f} at 1 % FPR, where accuracy is {accuracy.value:.2f}"
    return Held(rate.low > 5 * 0.01 and accuracy.value < LEAST, words)


ATTACKS: Final[Mapping[str, Callable[[], Ours]]] = {
    "attack: shadow pipeline": shadow_pipeline,
    "attack: Algorithm 1 data synthesis": searched,
    "attack: statistics-based data": from_statistics,
    "attack: noisy real data": noisy_real,
    "attack: white box (Nasr et al.)": white_box,
    "attack: Salem's adversaries 1 and 2": first_adversaries,
    "attack: Salem's adversary 3": third_adversary,
    "attack: few false positives on models that generalise": few_false_positives,
    "attack: white box without data": without_data,
    "attack: discriminator of a generative model": discriminator,
    "attack: Homer et al. on released means": released_means,
    "attack: five metrics": metrics,
}
"""Items of the lecture, by their names in the checklist."""

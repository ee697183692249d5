"""The networks of Lu et al., trained and attacked, seed after seed."""

from dataclasses import dataclass, field

import numpy as np

from reticent.arrays import Flags, Floats
from reticent.attacks import AnsweredTarget, Records, shadow_network, train_shadows
from reticent.audit import measured_attack
from reticent.data import split
from reticent.studies.lu.tables import PENALTY, Network
from reticent.studies.membership import Victim, scored_and_own
from reticent.studies.trained import Run
from reticent.training import MLPHead, mlp_head


@dataclass(frozen=True, kw_only=True)
class LuVictim(Victim):
    """m–128–C, tanh (Table 4), with 2λ‖W‖² = 0.001‖W‖² and the loss of Eq. 22."""

    penalty: float = 4 * PENALTY
    """Of (penalty/2)‖all weights‖²."""
    alpha: float | None = None
    """Of the convexified loss; None for the averaged one."""

    def head(self, records: Records, *, members: int, seed: int) -> MLPHead:
        """Untrained, with all classes of the records."""
        head = super().head(records, members=members, seed=seed)
        head.set_params(risk=self.alpha)
        return head


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """How a data set is divided, trained on and attacked."""

    on: str
    members: int
    """As many others; twice as many records are the adversary's."""
    shadows: int
    passes: int = 100
    network: shadow_network.NetworkRecipe = field(default_factory=shadow_network.NetworkRecipe)

    def victim(self, alpha: float | None) -> LuVictim:
        """The paper's network with this loss."""
        return LuVictim(alpha=alpha, passes=self.passes)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A trained victim, the records that it is asked about, and the attack on it."""

    victim: MLPHead
    scored: Records
    member: Flags
    attack: shadow_network.ShokriAttack

    def accuracy(self, *, members: bool) -> float:
        """On the training records, or on the others."""
        correct = self.victim.predict(self.scored.inputs) == self.scored.labels
        return float(correct[self.member == members].mean())

    def leakage(self) -> float:
        """TPR − FPR of the attack on the victim's own answers (Eq. 32)."""
        report = measured_attack(self.attack.scores(self.victim, self.scored), self.member)
        return report.leakage.value

    def answered(self, probabilities: Floats) -> tuple[float, float]:
        """Accuracy on the others, and TPR − FPR, of answers for all scored records."""
        target = AnsweredTarget(probabilities, classes=self.victim.classes_.tolist())
        rows = Records(np.arange(len(self.scored)), self.scored.labels)
        report = measured_attack(self.attack.scores(target, rows), self.member)
        predicted = self.victim.classes_[probabilities.argmax(axis=1)]
        correct = (predicted == self.scored.labels)[~self.member]
        return float(correct.mean()), report.leakage.value


def fitted(spec: Attacked, records: Records, alpha: float | None, *, seed: int, run: Run) -> Fitted:
    """Members, others and the adversary's records drawn by the seed; shadows have the same loss."""
    size = spec.members
    scored, own = scored_and_own(records, size, seed)
    member = np.arange(2 * size) < size
    head = spec.victim(alpha).head(records, members=size, seed=seed)
    inside = scored.take(member)
    shadows = train_shadows(head, own, count=spec.shadows, seed=seed, jobs=run.jobs)
    return Fitted(
        victim=head.fit(inside.inputs, inside.labels),
        scored=scored,
        member=member,
        attack=shadow_network.ShokriAttack(shadows=shadows, recipe=spec.network, seed=seed),
    )


def network_of(spec: Attacked, records: Records, alpha: float | None = None) -> Network:
    """What the paper's formulas need."""
    return Network(
        features=records.inputs.shape[1],
        classes=len(np.unique(records.labels)),
        records=spec.members,
        alpha=1.0 if alpha is None else alpha,
    )


def logit_change(
    spec: Attacked, records: Records, alpha: float | None, *, seed: int, removed: int
) -> tuple[float, float]:
    """The largest change of a logit of a record that is not trained on, over some removals.

    Networks with and without a record share initial weights and the order of all others. The second
    number is the mean over removals of each one's largest change.
    """
    parts = split(
        len(records),
        sizes={"members": spec.members, "others": min(spec.members, 1_000)},
        seed=seed,
        stratify=records.labels,
    )
    inside, asked = records.take(parts["members"]), records.take(parts["others"])
    head = spec.victim(alpha).head(records, members=spec.members, seed=seed)
    full = head.fit(inside.inputs, inside.labels)
    rows, labels = full.mapped_records(inside.inputs, inside.labels)
    without = mlp_head.trainer("dense").train_without(
        rows, labels, full.recipe(rows.shape[1]), np.arange(removed)
    )
    logits = full.logits(asked.inputs)
    changes = [
        float(np.abs(full.with_weights(layers).logits(asked.inputs) - logits).max())
        for layers in without
    ]
    return max(changes), float(np.mean(changes))

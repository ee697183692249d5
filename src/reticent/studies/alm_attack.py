"""The attack of the ALM paper on a tuned linear head, beside LiRA."""

from __future__ import annotations

from collections.abc import Mapping

from reticent.attacks.shadow_network import ALM
from reticent.pipeline import Table
from reticent.studies.membership import (
    READING,
    Membership,
    Victim,
    attack_rows,
    seeds_above,
    trials,
)
from reticent.studies.trained import Outcome, Run

PUBLISHED = {"CIFAR-10": ".62", "STL-10": ".61", "CIFAR-100": ".71"}
"""Section 6.2: accuracy against unprotected heads."""
FIGURES = ("accuracy", "AUC", "TPR at 1 % FPR")

LINEAR = Victim(layers=1, penalty=0.0, learning_rate=0.01, batch=None, passes=300)
"""Only a linear layer is tuned; here on pixels, to the last member."""
SPECS: Mapping[str, Membership] = {
    name: Membership(
        on=name,
        members=members,
        attack="alm",
        network=ALM,
        shadows=1,
        around=64,
        victim=LINEAR,
    )
    for name, members in (("mnist5k", 1_000), ("digits", 400))
}


def study(spec: Membership, run: Run) -> Outcome:
    """Published accuracies first, then each attack on our victim."""
    cells = trials(spec, run)
    none = ("–",) * (len(FIGURES) - 1)
    published = [
        (f"ALM's shadow network, {data} (published)", accuracy, *none)
        for data, accuracy in PUBLISHED.items()
    ]
    training, test = (
        sum(cell[name] for cell in cells) / len(cells) for name in ("training", "test")
    )
    table = Table(
        title=f"The attack of the ALM paper on {spec.on}: {spec.members:,} members",
        columns=("attack", *FIGURES),
        rows=(*published, *attack_rows(cells, FIGURES)),
        notes=(
            f"The victim is a linear head on pixels, {training:.3f} right on its members and "
            f"{test:.3f} on others. The paper tunes a linear head on a SimCLR encoder.",
            f"The shadow network learns from {2 * spec.members:,} answers of one shadow model, half"
            " of them for its members, all on records that are not the victim's. LiRA has"
            f" {spec.around} shadow models on halves of the records that are scored.",
            f"LiRA is above the shadow network: {seeds_above(cells, FIGURES)}.",
            READING.format(seeds=spec.seeds),
        ),
    )
    return Outcome(specifications=(spec,), tables=(table,))

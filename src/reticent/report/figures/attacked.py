"""Releases that the chosen attack was made on, and how well it did."""

from matplotlib.axes import Axes

from reticent.report.numbers import decimal_range
from reticent.report.palette import LIGHT
from reticent.report.series import BEHIND, attack_on, hover_of
from reticent.results import Attack, Interval, ReleaseRow, Results


def attacked(results: Results) -> dict[str, tuple[ReleaseRow, Attack]]:
    """Releases by their names, with the chosen attack; those without it are left out."""
    found = {one.name: (one, attack_on(one.attacks, results.conclusion.attack))
             for one in results.releases if one.claim.epsilon > 0}  # fmt: skip
    return {name: (one, attack) for name, (one, attack) in found.items() if attack is not None}


def unprotected(results: Results) -> Interval | None:
    """The same figure before protection."""
    attack = attack_on(results.unprotected.attacks, results.conclusion.attack)
    return None if attack is None else attack.balanced_accuracy


def attacked_hover(release: ReleaseRow, attack: Attack) -> str:
    """What a point of an attacked release says."""
    accuracy = f"balanced accuracy {decimal_range(attack.balanced_accuracy)}"
    return f"{hover_of(release)}; {attack.name}: {accuracy}, AUC {decimal_range(attack.auc)}"


def reference_lines(axes: Axes, before: Interval | None) -> None:
    """Guessing, and the head without protection, each named at its line."""
    lines = {"guessing": 0.5} | ({} if before is None else {"without protection": before.value})
    for label, height in lines.items():
        axes.axhline(height, color=LIGHT["muted"], linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(
            label,
            (0.01, height),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=9.5,
            color=LIGHT["muted"],
            bbox=BEHIND,
        )
    if before is not None:
        axes.axhspan(before.low, before.high, color=LIGHT["muted"], alpha=0.12, linewidth=0)


def described(shown: dict[str, tuple[ReleaseRow, Attack]], before: Interval | None) -> str:
    """The range of the figure in words."""
    values = [attack.balanced_accuracy.value for _, attack in shown.values()]
    plain = "" if before is None else f" Without protection: {before}."
    return (
        f"{len(shown)} releases, balanced accuracy from {min(values):.3f} to {max(values):.3f};"
        f" 0.5 is guessing.{plain}"
    )

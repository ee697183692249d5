"""The page of a comparison of protections: one plot, one table, in a section of its own."""

from pathlib import Path
from typing import Final

from reticent.files import write_atomic
from reticent.report import numbers
from reticent.report.drawing import Canvas, Drawing, SeriesStyle, shortened, styled
from reticent.report.palette import DARK, LIGHT, MARKERS, SERIES, declarations
from reticent.report.table import INTERVAL, Column, Table
from reticent.results.protections import NO_CLAIM, RECALLS, Protection, Protections

NAME: Final = "protections"
_LABEL: Final = 22


def draw_protections(protections: Protections) -> Drawing:
    """Accuracy against what the strongest attack finds: upper left is better."""
    canvas = Canvas(NAME, 380)
    axes = canvas.axes
    axes.axhline(
        protections.unprotected.value, color=LIGHT["muted"], linestyle=(0, (4, 3)), linewidth=1.2
    )
    axes.axvline(0.5, color=LIGHT["muted"], linestyle=(0, (1, 3)), linewidth=1.2)
    for place, row in enumerate(protections.by_accuracy):
        look = SeriesStyle(
            colour=SERIES[place % len(SERIES)],
            marker=MARKERS[place % len(MARKERS)],
            filled=row.claim is None or row.claim.delta > 0,
        )
        auc, accuracy = row.strongest.auc, row.accuracy
        axes.plot([auc.low, auc.high], [accuracy.value] * 2, alpha=0.5, **look.line)
        axes.plot([auc.value] * 2, [accuracy.low, accuracy.high], alpha=0.5, **look.line)
        canvas.point(
            auc.value, accuracy.value, look, _hover(row), label=shortened(row.name, _LABEL)
        )
    axes.set_xlabel("AUC of the strongest attack (0.5: guessing)")
    axes.set_ylabel("accuracy")
    canvas.figure.legend(loc="outside lower center", ncols=2)
    best = protections.by_accuracy[0] if protections.rows else None
    return canvas.done(
        title="Where the noise goes: accuracy and what an attack finds",
        caption=(
            f"Every protection at ε = {protections.epsilon:g}, hollow marks at δ = 0. Bars are 95 %"
            " intervals; the dashed line is the head without protection. A failed attack proves"
            " nothing: the guarantee is what holds against the others."
        ),
        alt=(
            f"{len(protections.rows)} protections; without protection {protections.unprotected}."
            + ("" if best is None else f" Most useful: {best.name}, accuracy {best.accuracy}.")
        ),
    )


def protections_table(protections: Protections) -> Table:
    """All rows, the most useful first."""
    interval = {"show": numbers.decimal_range, "numeric": True, "parts": INTERVAL}
    columns = (
        Column(name="protection"),
        Column(name="noise", below=True),
        Column(name="where", below=True),
        Column(name="grade"),
        Column(name="ε", numeric=True),
        Column(name="δ", numeric=True),
        Column(name="neighbours", below=True),
        Column(name="accuracy", **interval),  # type: ignore[arg-type]
        Column(name="certified", below=True, **interval),  # type: ignore[arg-type]
        Column(name=RECALLS[0], **interval),  # type: ignore[arg-type]
        Column(name="worst class", below=True),
        Column(name="its recall", below=True, **interval),  # type: ignore[arg-type]
        Column(name="attack", below=True),
        Column(name="AUC", **interval),  # type: ignore[arg-type]
        Column(name="seconds", below=True, numeric=True),
    )
    rows = tuple(
        (
            row.recipe,
            row.mechanism,
            row.place,
            *_claimed(row),
            row.accuracy,
            None if row.certified is None else row.certified.accuracy,
            *_recalls(row),
            row.strongest.name,
            row.strongest.auc,
            f"{row.seconds:.2f}",
        )
        for row in protections.by_accuracy
    )
    return Table(
        name=NAME,
        caption=f"Protections of {protections.private:,} records, scored on"
        f" {protections.test:,} others",
        columns=columns,
        rows=rows,
    )


def protections_page(protections: Protections) -> str:
    """The whole page as HTML: one text that loads and runs nothing."""
    from reticent.report import rendering  # whose tables have this one among them

    with styled():
        figures = {NAME: draw_protections(protections)}
        return (
            rendering.environment()
            .get_template("protections.html.j2")
            .render(
                found=protections,
                figures=figures,
                tables={NAME: protections_table(protections)},
                light=declarations(LIGHT),
                dark=declarations(DARK),
            )
        )


def write_protections(protections: Protections, folder: Path) -> list[Path]:
    """``protections.html``, ``.json`` and ``.csv``; readable by their owner alone."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "protections.json": protections.model_dump_json(indent=1) + "\n",
        "protections.csv": protections_table(protections).csv(),
        "protections.html": protections_page(protections),
    }
    for name, content in contents.items():
        write_atomic(folder / name, content.encode("utf-8"), private=True)
    return [folder / name for name in contents]


def _claimed(row: Protection) -> tuple[str, ...]:
    """Grade, ε, δ and relation; of smoothing, that nothing is promised about records."""
    claim = row.claim
    if claim is None:
        return NO_CLAIM, "–", "–", "–"
    return str(claim.grade), f"{claim.epsilon:g}", f"{claim.delta:g}", str(claim.relation)


def _recalls(row: Protection) -> tuple[object, object, object]:
    """Balanced accuracy, the class that is found least often, and how often that is."""
    by_class = row.by_class
    if by_class is None:
        return None, None, None
    return by_class.balanced_accuracy, by_class.lowest.label, by_class.lowest.recall


def _hover(row: Protection) -> str:
    return (
        f"{row.name}, {row.mechanism} noise on {row.place}: accuracy {row.accuracy},"
        f" {row.strongest.name} AUC {row.strongest.auc}; "
        + ("no claim about records" if row.claim is None else row.claim.text)
    )

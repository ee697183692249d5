"""The tables of the page."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reticent.report import numbers, protections, series
from reticent.report.evidence import Evidence
from reticent.report.figures.audits import audited
from reticent.report.table import INTERVAL, Column, Table, places
from reticent.results import Attack, ByClass, Features, Interval, ReleaseRow, Results, task_results

NAMES: Final = (
    "attacks", "every-attack", "releases", "audits", "sensitivities", "features", "exposed",
    "recalls",
    "noise", "versions", "settings", protections.NAME,
)  # fmt: skip
MOST_EXPOSED: Final = 8
MOST_CLASSES: Final = 30
_CLAIM: Final = ("epsilon", "delta", "grade", "gamma", "relation", "unit")


def tables(results: Results) -> dict[str, Table]:
    """All tables of the internal page with rows, by their names."""
    release = results.recommended
    return _named(
        attacks(results), every_attack(results), releases(results), audits(results),
        sensitivities(results), features(results), exposed(results), recalls(results),
        noise(release.mechanism, release.scales), versions(results.made.versions),
        settings(results),
        *map(protections.protections_table, filter(None, (results.protections,))),
    )  # fmt: skip


def public_tables(evidence: Evidence) -> dict[str, Table]:
    """Those of a public page: what the certificate says of the noise, and who made it."""
    return _named(
        noise(evidence.mechanism, evidence.scales),
        versions(evidence.versions),
        public_recalls(evidence.covered_by_class),
        public_measures(evidence.covered_measures),
    )


def _named(*made: Table) -> dict[str, Table]:
    return {table.name: table for table in made if table.rows}


def attacks(results: Results) -> Table:
    """Every attack, on the head without protection and on the recommended release."""
    before, after = results.unprotected.attacks, results.recommended.attacks
    names = list(dict.fromkeys(attack.name for attack in (*before, *after)))
    fpr = _largest_rate([*before, *after])
    rate = "TPR − FPR" if fpr is None else f"TPR at {numbers.whole_share(fpr)} FPR"
    return Table(
        name="attacks",
        caption=(
            f"All attacks before and after ({results.recommended.name}). AUC 0.5 is guessing;"
            " intervals hold for all attacks on a model together. A leak is found where the AUC's"
            " is above guessing, or another figure is when corrected for all of an attack's."
        ),
        columns=(
            Column(name="attack"),
            _auc("AUC before"),
            _auc("AUC after"),
            _share(f"{rate} before"),
            _share(f"{rate} after"),
            Column(name="before"),
            Column(name="after"),
            Column(name="sees and knows", below=True),
        ),
        rows=tuple(
            _pair_row(series.attack_on(before, name), series.attack_on(after, name), fpr)
            for name in names
        ),
        marked=places(name == results.conclusion.attack for name in names),
    )


def every_attack(results: Results) -> Table:
    """Every attack on every model: too many for the page, all of them in the file."""
    models = [(results.unprotected.name, results.unprotected.attacks)]
    models += [(release.name, release.attacks) for release in results.releases]
    texts = ("model", "attack", "sees and knows", "black box", "members", "others")
    return Table(
        name="every-attack",
        caption="Every attack on every model.",
        columns=(
            *(Column(name=name) for name in texts),
            *(_auc(name) for name in ("AUC", "balanced accuracy", "TPR − FPR")),
            Column(name="leaks"),
            Column(name="verdict"),
        ),
        rows=tuple(
            (model, attack.name, attack.threat, attack.black_box, attack.members, attack.others,
             attack.auc, attack.balanced_accuracy, attack.leakage, attack.leaks, attack.verdict)
            for model, made in models
            for attack in made
        ),
    )  # fmt: skip


def releases(results: Results) -> Table:
    """Every release; the recommended one stands out."""
    chosen = results.conclusion.attack
    return Table(
        name="releases",
        caption="All releases; the recommended one is marked. Every ε carries its grade.",
        columns=(
            Column(name="release"),
            Column(name="claim", show=numbers.epsilon_of, parts=_CLAIM),
            Column(name="δ ≤", numeric=True),
            _share("accuracy"),
            _share("utility loss"),
            _auc(f"AUC of {chosen}"),
            Column(name="audit"),
            Column(name="learner", below=True),
            Column(name="mechanism", below=True),
            Column(name="draws", below=True),
            Column(name="file", below=True),
        ),
        rows=tuple(_release_row(one, chosen) for one in results.releases),
        marked=places(one.name == results.conclusion.recommended for one in results.releases),
        bad=places(
            one.audit is not None and one.audit.verdict == "refuted" for one in results.releases
        ),
    )


def audits(results: Results) -> Table:
    """Every audited claim; refuted ones first."""
    rows = audited(results)
    return Table(
        name="audits",
        caption="All audits. Not refuted does not mean proven.",
        columns=(
            Column(name="release"),
            Column(name="claim", show=numbers.epsilon_of, parts=_CLAIM),
            Column(name="measured", show=numbers.measured_of,
                   parts=("measured.epsilon", "measured.delta", "measured.method")),
            Column(name="confidence", show=numbers.surety, numeric=True),
            Column(name="worst pair found", show=numbers.analytic_of, parts=("analytic", "exact")),
            Column(name="verdict"),
            Column(name="refuted by", below=True),
            Column(name="pair", below=True),
            Column(name="distance ÷ sensitivity", show=numbers.small, below=True),
            Column(name="runs in each world", below=True),
            Column(name="notes", below=True),
        ),
        rows=tuple(
            (row.name, row.claim, row.audit, row.audit.measured.confidence, row.audit,
             row.audit.verdict, row.audit.refuted_by, row.audit.pair, row.audit.tightness,
             row.audit.runs, "; ".join(row.audit.notes) or None)
            for row in rows
        ),
        bad=places(row.refuted for row in rows),
    )  # fmt: skip


def sensitivities(results: Results) -> Table:
    """One row for each way to say how far a record moves the weights."""
    return Table(
        name="sensitivities",
        caption="How far one record moves the weights, by grade.",
        columns=(
            Column(name="grade"),
            *(Column(name=name, show=numbers.small, numeric=True) for name in ("L1", "L2", "γ")),
            Column(name="what may be promised"),
            Column(name="neighbours"),
            Column(name="from", below=True),
        ),
        rows=tuple(
            (row.grade, row.l1, row.l2, row.gamma, row.verdict, row.relation, row.source)
            for row in results.sensitivities
        ),
    )


def features(results: Results) -> Table:
    """The same job on each kind of features."""
    shares = ("accuracy without protection", "accuracy released", "utility loss")
    return Table(
        name="features",
        caption=" ".join(("The same job on each kind of features.", *_worse(results.features))),
        columns=(
            Column(name="features"),
            Column(name="width", numeric=True),
            *(_share(name) for name in shares),
            _auc("AUC of the strongest attack before"),
        ),
        rows=tuple(
            (row.name, row.width, row.unprotected, row.released, row.loss, row.strongest)
            for row in results.features
        ),
    )


def exposed(results: Results) -> Table:
    """The most exposed records, with their chance to be found."""
    exposure = results.exposure
    return Table(
        name="exposed",
        caption="The most exposed records, by their row in the private file; more are in the"
        " folder tables.",
        most=MOST_EXPOSED,
        columns=(
            Column(name="row"),
            Column(name="label"),
            Column(name="chance to be found", show=numbers.share, numeric=True),
        ),
        rows=tuple((one.row, one.label, one.power) for one in (exposure.most if exposure else ())),
    )


def recalls(results: Results) -> Table:
    """Every class, before and after the recommended release; lost ones stand out."""
    before, after = results.unprotected.by_class, results.recommended.by_class
    class_recalls = () if before is None or after is None else after.recalls
    return Table(
        name="recalls",
        caption="Recall of each class, before and after the recommended release; intervals hold for"
        " all classes together. A class is marked that loses more than half of its recall, where"
        " the interval of the loss is above 0 or not one of its records is found any more.",
        columns=(
            Column(name="class"),
            Column(name="test records", numeric=True),
            _share("recall before"),
            _share("recall after"),
            _share("loss"),
        ),
        rows=tuple(
            (one.label, one.test, _recall_of(before, one.label), one.recall, one.loss)
            for one in class_recalls
        ),
        bad=places(one.lost for one in class_recalls),
        most=MOST_CLASSES,
    )


def public_measures(covered: Sequence[task_results.Measure]) -> Table:
    """Of a number, or of several labels: those of the released model alone."""
    return Table(
        name="measures",
        caption="The released model on public test records, each figure with its 95 % interval.",
        columns=(
            Column(name="measure"),
            Column(name="better"),
            Column(name="figure", show=numbers.figure_text, numeric=True, parts=INTERVAL),
        ),
        rows=tuple(
            (one.words, "lower" if one.lower_is_better else "higher", one.figure) for one in covered
        ),
    )


def public_recalls(covered: ByClass | None) -> Table:
    """Of the released model alone, on public test records."""
    return Table(
        name="recalls",
        caption="Recall of each class, of the released model on public test records.",
        columns=(Column(name="class"), Column(name="test records", numeric=True), _share("recall")),
        rows=tuple(
            (one.label, one.test, one.recall) for one in (covered.recalls if covered else ())
        ),
        most=MOST_CLASSES,
    )


def noise(mechanism: str, scales: Mapping[str, float]) -> Table:
    """The scales of a release, which are public."""
    return Table(
        name="noise",
        caption=f"Scale of the {mechanism} noise on each part of the release.",
        columns=(Column(name="part"), Column(name="scale", show=numbers.scale_of, numeric=True)),
        rows=tuple(scales.items()),
    )


def versions(made_with: Mapping[str, str]) -> Table:
    """What it was made with."""
    return Table(
        name="versions",
        caption="Provenance with.",
        columns=(Column(name="software"), Column(name="version")),
        rows=tuple(made_with.items()),
    )


def settings(results: Results) -> Table:
    """Every choice, whether the command shows it or not."""
    return Table(
        name="settings",
        caption="All choices of the run.",
        columns=(Column(name="setting"), Column(name="value")),
        rows=tuple(results.made.settings.items()),
    )


def _worse(rows: tuple[Features, ...]) -> list[str]:
    """A sentence for each kind on which a head is less accurate than on the first, the plain."""
    sentences = []
    for row in rows[1:]:
        pairs = {
            "without protection": (row.unprotected.value, rows[0].unprotected.value),
            "released": (row.released.value, rows[0].released.value),
        }
        less = [
            f"{numbers.share(own)} against {numbers.share(plain)} {name}"
            for name, (own, plain) in pairs.items()
            if own < plain
        ]
        if less:
            sentences.append(
                f"{row.name} are worse than {rows[0].name} here: accuracy {', '.join(less)}."
            )
    return sentences


def _auc(name: str) -> Column:
    return Column(name=name, show=numbers.decimal_range, numeric=True, parts=INTERVAL)


def _recall_of(by_class: ByClass | None, label: str) -> Interval | None:
    one = None if by_class is None else by_class.of(label)
    return None if one is None else one.recall


def _share(name: str) -> Column:
    return Column(name=name, show=numbers.share_range, numeric=True, parts=INTERVAL)


def _release_row(release: ReleaseRow, attack: str) -> tuple[Any, ...]:
    measured_attack = series.attack_on(release.attacks, attack)
    return (
        release.name,
        release.claim,
        numbers.delta_of(release.claim),
        release.accuracy,
        release.loss,
        None if measured_attack is None else measured_attack.auc,
        "not audited" if release.audit is None else release.audit.verdict,
        release.learner,
        release.mechanism,
        release.draws,
        release.file,
    )


def _pair_row(before: Attack | None, after: Attack | None, fpr: float | None) -> tuple[Any, ...]:
    pair = (before, after)
    named = [one for one in pair if one is not None]
    areas = [None if one is None else one.auc for one in pair]
    words = [None if one is None else "leaks" if one.leaks else "no leak found" for one in pair]
    return (named[0].name, *areas, *(_rate(one, fpr) for one in pair), *words, named[0].threat)


def _rate(attack: Attack | None, fpr: float | None) -> Interval | None:
    """The TPR at this FPR; TPR − FPR where there were too few records for any."""
    if attack is None or fpr is None:
        return None if attack is None else attack.leakage
    return next((rate.tpr for rate in attack.rates if rate.fpr == fpr), None)


def _largest_rate(made: list[Attack]) -> float | None:
    """The largest FPR at which a TPR was measured."""
    return max((rate.fpr for attack in made for rate in attack.rates), default=None)

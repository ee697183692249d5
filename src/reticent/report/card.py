"""The privacy section of a model card: Markdown with the headings of Hugging Face's template.

Attacks, audits and accuracies are computed from private records without noise. A card is internal
with them; ``public`` leaves them out, and all that no guarantee covers.
"""

import shlex
from collections.abc import Iterable
from typing import Final

from reticent.audit import ceiling
from reticent.audit.lower_bound import percent
from reticent.guarantee.rounding import lower_text, upper_text
from reticent.guarantee.weakness import weaknesses
from reticent.protect.registry import encoders, on_optimum
from reticent.report import publication, recall_lines, wording
from reticent.report.evidence import Evidence, Trial
from reticent.report.markdown import bullets, code, escaped, table
from reticent.report.numbers import analytic_of, delta_of, epsilon_of, scale_of
from reticent.results import Attack, Audit, Claim, Interval
from reticent.results.audit import UsedClaim

_MOST_NAMES = 50
"""Of columns that a card lists."""
FPR = 0.01
"""The share of false alarms at which a card says what an attack can reach."""


def card(evidence: Evidence, *, public: bool = False, utility: str | None = None) -> str:
    """The section as a whole; ``public`` keeps what the guarantee covers alone.

    ``utility`` says what the release costs, where that is no accuracy of classes.
    """
    if public:
        evidence = publication.publishable(evidence)
    parts = [
        "## Privacy",
        f"> {wording.LEFT_OUT if public else wording.INTERNAL}",
        *([f"> {wording.REFUTED}"] if evidence.refuted else []),
        "### Guarantee",
        guarantee(evidence),
        "### Mechanism and noise",
        mechanism(evidence),
        "### Assumptions",
        assumptions(evidence.claim),
        *(() if public else tested(evidence)),
        *(cost(evidence, public=public) if utility is None else ("### Utility", utility)),
        *how_to_use(evidence),
        "### How to verify",
        how_to_verify(evidence),
        "## Bias, Risks, and Limitations",
        "### What the guarantee does not cover",
        not_covered(evidence),
        "### Recommendations",
        bullets(wording.RECOMMENDED),
    ]
    return "\n\n".join(parts) + "\n"


def guarantee(evidence: Evidence) -> str:
    """The claim with its grade, what it means, for whom and between which data sets."""
    claim = evidence.claim
    lines = [
        f"**{escaped(evidence.title)}:** {escaped(claim.text)}",
        f"**Grade:** {claim.grade}: {claim.grade.meaning}.",
        *meaning(claim),
        *(f"**Weak:** {line}." for line in _weaknesses(evidence)),
        f"**Who is protected:** {escaped(claim.unit)}; what a record is stands among the stated"
        " assumptions.",
        f"**Neighbours:** {wording.NEIGHBOURS.get(claim.relation, escaped(claim.relation))}",
    ]
    lines += [f"**{name}:** {escaped(line)}." for name, line in composed_claims(evidence.used)]
    if evidence.certificate is not None:
        lines.append(f"**Whose word:** {publication.signature_of(evidence)}.")
    return bullets(lines)


def composed_claims(used: UsedClaim | None) -> list[tuple[str, str]]:
    """The release that this one builds on, and both together: name and claim of each."""
    if used is None:
        return []
    below = f"The released {used.noun} below it ({used.recipe}, of {used.people} people)"
    return [(below, used.claim.text), ("Both together", used.both.text)]


def _weaknesses(evidence: Evidence) -> tuple[str, ...]:
    """Of the ε and δ of its certificate, which says N."""
    numbers = {} if evidence.certificate is None else evidence.certificate.numbers
    records = numbers.get("records")
    if not isinstance(records, int):
        return ()
    claim = evidence.claim
    return weaknesses(epsilon=claim.epsilon, delta=claim.delta, records=records)


def meaning(claim: Claim) -> list[str]:
    """What ε and δ allow, where the claim is about every pair of neighbours."""
    if claim.grade not in ("proven", "declared"):
        return []
    power = float(ceiling([FPR], epsilon=claim.epsilon, delta=claim.delta)[0])
    return [
        f"**What it means:** whatever somebody concludes from the model, with whatever else they"
        f" know, is at most e^ε times as likely as on a neighbouring data set, but for a"
        f" probability of δ. An attack that takes"
        f" {100 * FPR:g} % of non-members for members finds at most"
        f" {upper_text(min(100 * power, 100.0), 3)} % of the members, if {epsilon_of(claim)} and"
        f" δ ≤ {delta_of(claim)} hold."
    ]


def mechanism(evidence: Evidence) -> str:
    """What was noised, by which noise, and the public numbers of its certificate."""
    noised = (
        "noise on the optimum of a regularised linear head, drawn once"
        if on_optimum(evidence.learner)
        else f"the learner {escaped(evidence.learner)}, with the noise inside"
    )
    lines = [
        f"**Learner:** {noised}.",
        f"**Noise:** {escaped(evidence.mechanism)}, from the operating system's randomness.",
        "**Scales:** "
        + ", ".join(f"{escaped(name)} {scale_of(scale)}" for name, scale in evidence.scales.items())
        + ".",
    ]
    if evidence.certificate is not None:
        numbers = evidence.certificate.numbers.items()
        shown = ", ".join(f"{escaped(name)} {escaped(str(value))}" for name, value in numbers)
        lines.append(f"**Public numbers:** {shown}.")
    return bullets(lines)


def assumptions(claim: Claim) -> str:
    """Both lists of a claim: checked by the code, and stated."""
    return "\n\n".join(
        (
            "Checked by the code:",
            bullets(map(escaped, claim.checked)),
            "Stated by whoever made the release; no program can check them:",
            bullets(map(escaped, claim.stated)),
        )
    )


def tested(evidence: Evidence) -> list[str]:
    """Attacks and the audit: never public."""
    return [
        "### Attacks tried",
        *(attack_table(trial) for trial in evidence.trials),
        attack_summary(evidence),
        "### Audit of the claim",
        audit_lines(evidence),
    ]


def attack_table(trial: Trial) -> str:
    """One row for each attack, its figures with their intervals."""
    kind = "released" if trial.protected else "not protected"
    rates = sorted({rate.fpr for attack in trial.attacks for rate in attack.rates}, reverse=True)
    columns = [
        "attack", "sees and knows", "members", "others", "AUC", "balanced accuracy",
        "TPR − FPR", *(f"TPR at {100 * fpr:g} % FPR" for fpr in rates), "leak found",
    ]  # fmt: skip
    rows = [_attack_row(attack, rates) for attack in trial.attacks]
    caption = f"On {escaped(trial.target)} ({kind}):"
    return "\n\n".join((caption, table(columns, rows), *_below(trial)))


def attack_summary(evidence: Evidence) -> str:
    """What the figures say, and what so few records could not."""
    if not evidence.trials:
        return "No attack was tried: nothing is known of what this model tells in practice."
    lines = ["Guessing has AUC 0.5, balanced accuracy 0.5 and TPR − FPR 0.", *_chosen(evidence)]
    for protected, model in ((False, "unprotected model"), (True, "released model")):
        attacks = evidence.attacks(protected=protected)
        leaking = [escaped(attack.name) for attack in attacks if attack.leaks]
        if attacks:
            lines.append(
                f"On the {model}, {len(leaking)} of {len(attacks)} attacks found a leak"
                + (f": {', '.join(leaking)}." if leaking else ".")
            )
    if not evidence.attacks(protected=True):
        lines.append("No attack was tried on the released model itself.")
    lines += _impossible(evidence)
    return bullets([*lines, "No leak found is no proof that there is none."])


def audit_lines(evidence: Evidence) -> str:
    """Claim, lower bound and verdict."""
    audit = evidence.audit
    if audit is None:
        return wording.UNAUDITED
    reason = "" if audit.refuted_by is None else f", by the {escaped(audit.refuted_by)}"
    lines = [
        f"**Claim:** {escaped(evidence.claim.text)}",
        f"**Lower bound:** {lower_bound(audit)}",
        f"**Verdict:** {audit.verdict}{reason}. A claim that is not refuted is not proven by that.",
    ]
    if audit.analytic is not None:
        pair = "" if audit.pair is None else f": {escaped(audit.pair)}"
        tight = "" if audit.tightness is None else f"; tightness {audit.tightness:.3f}"
        lines.insert(2, f"**Worst pair found:** {analytic_of(audit)}{pair}{tight}")
    return bullets([*lines, *map(escaped, audit.notes)])


def lower_bound(audit: Audit) -> str:
    """What was measured, rounded down, with its confidence."""
    bound = audit.measured
    return (
        f"ε ≥ {lower_text(bound.epsilon)} (measured, {percent(bound.confidence)} % confidence, at"
        f" δ = {lower_text(bound.delta)}; {escaped(bound.method)}; {audit.runs:,} runs)"
    )


def cost(evidence: Evidence, *, public: bool) -> list[str]:
    """Accuracies; on a public card the one that follows from what was released, or none."""
    utility = evidence.utility
    if public:
        shown = evidence.covered
        if evidence.covered_measures:
            return ["### Utility", *recall_lines.public_measures(evidence)]
        if shown is None:
            return []
        return ["### Utility", bullets([covered(shown)]), *recall_lines.public_recalls(evidence)]
    own = None if utility is None else utility.kept
    lines = [] if own is None else [f"**Accuracy of the released model:** {measured(own)}"]
    if utility is not None:
        if utility.draws > 1:
            lines.append(
                f"**Mean accuracy over {utility.draws:,} draws of the noise**, not that of the"
                f" released file: {measured(utility.after)}"
            )
        lines += [
            f"**Accuracy without protection:** {measured(utility.before)}",
            f"**Utility loss** (1 − accuracy/accuracy without protection): {measured(utility.loss)}"
            f", over {utility.draws:,} draws of the noise",
        ]
    return ["### Utility", bullets(lines), *recall_lines.recalls(evidence)] if lines else []


def covered(figure: Interval) -> str:
    """An accuracy that is no part of the certificate, but that everybody can measure."""
    return f"**Accuracy of the released model:** {measured(figure)}, {wording.ON_PUBLIC_RECORDS}."


def measured(figure: Interval) -> str:
    """With its interval and the confidence of that."""
    return f"{figure} ({percent(figure.confidence)} %)"


def how_to_use(evidence: Evidence) -> list[str]:
    """The columns and the formula of its certificate, for any program; and the command."""
    certificate = evidence.certificate
    if certificate is None:
        return []
    names = ", ".join(map(escaped, certificate.columns[:_MOST_NAMES]))
    rest = len(certificate.columns) - _MOST_NAMES
    more = f" and {rest:,} more, in the certificate" if rest > 0 else ""
    columns = [f"**x**, in this order: {names}{more}."] if certificate.columns else []
    command = f"$ reticent predict {shlex.quote(certificate.file or 'PREFIX')} --queries FILE"
    return [
        "### How to use",
        "An answer comes of a row x and the tensors of the .safetensors file, in float64:",
        bullets([*columns, *map(escaped, certificate.formula)]),
        code(command),
    ]


def how_to_verify(evidence: Evidence) -> str:
    """The command; and what it said when the card was written."""
    command = code(f"$ reticent verify {shlex.quote(evidence.file or 'PREFIX')}")
    words = "Anybody with the two files of the release computes ε anew, without the data:"
    parts = [words, command]
    if evidence.certificate is not None:
        certificate = evidence.certificate
        parts.append(
            f"When this was written, it held: ε = {upper_text(certificate.epsilon)}"
            f" ({certificate.claim.grade}) follows from the public numbers at"
            f" δ = {delta_of(certificate.claim)}."
        )
    made = ", ".join(f"{escaped(n)} {escaped(v)}" for n, v in sorted(evidence.versions.items()))
    return "\n\n".join([*parts, *([f"Made with {made}."] if made else [])])


def not_covered(evidence: Evidence) -> str:
    """What an adversary may learn all the same."""
    return bullets((_made_by(evidence), *wording.NOT_COVERED))


def _made_by(evidence: Evidence) -> str:
    """Whose records no line above protects: those below an encoder, or those that made one."""
    kind = "" if evidence.run is None else f" ({escaped(evidence.run.facts.feature_kind)})"
    head = f"**What the features were made by{kind}:** "
    if evidence.used is not None and evidence.used.noun == "encoder":
        return (
            f"{head}a released encoder. Its records are protected by its own guarantee, which"
            " stands above with that of both; records behind a public encoder below it, where"
            " there is one, by neither."
        )
    if evidence.learner in encoders():
        return (
            f"{head}records behind a public encoder below this one, where there is one, are not"
            " protected by this release."
        )
    return f"{head}records that an encoder was pre-trained on are not protected by this release."


def _attack_row(attack: Attack, rates: list[float]) -> tuple[str, ...]:
    measured_rates = {rate.fpr: str(rate.tpr) for rate in attack.rates}
    return (
        escaped(attack.name),
        escaped(attack.threat),
        f"{attack.members:,}",
        f"{attack.others:,}",
        *map(str, (attack.auc, attack.balanced_accuracy, attack.leakage)),
        *(measured_rates.get(fpr, "–") for fpr in rates),
        "yes" if attack.leaks else "no",
    )


def _below(trial: Trial) -> Iterable[str]:
    """What belongs to the table."""
    if trial.attacks:
        least, many = min(attack.auc.confidence for attack in trial.attacks), len(trial.attacks)
        simultaneous = max(1 - many * (1 - least), 0.0)  # Bonferroni
        yield (
            f"Intervals are of {percent(least)} % confidence each; those of one column hold"
            f" together at {percent(simultaneous)} %."
        )
    for note in trial.notes:
        yield f"Note: {escaped(note)}."


def _impossible(evidence: Evidence) -> Iterable[str]:
    """Attacks that could be tried on no model, once, by their reasons."""
    tried = {attack.name for trial in evidence.trials for attack in trial.attacks}
    reasons = {name: why for trial in evidence.trials for name, why in trial.left_out.items()}
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        if name not in tried:
            names.setdefault(why, []).append(escaped(name))
    for why, those in names.items():
        yield f"Not possible here ({escaped(why)}): {', '.join(those)}."


def _chosen(evidence: Evidence) -> list[str]:
    """The attack that a run chose on no scored record, before and after."""
    if evidence.run is None:
        return []
    verdict = evidence.run.conclusion
    lines = [
        f"{escaped(verdict.attack)}, chosen on no record that it is scored on: AUC"
        f" {verdict.before} before protection, {verdict.after} after."
    ]
    if not verdict.enough:
        needed = verdict.records_needed
        more = "" if needed is None else f" At least {needed:,} on each side are needed."
        lines.append(f"**Too few records** for attacks to show a leak worth naming.{more}")
    return lines


_PIPELINES: Final = {"regression": "tabular-regression"}
_TAGS: Final = ("differential-privacy", "privacy", "tabular", "safetensors")


def model_card(evidence: Evidence, *, utility: str | None = None) -> str:
    """A README.md for a model repository: the header that Hugging Face reads, and the public card.

    Licence and data sets are for its publisher to add.
    Every word of the header is fixed: nothing of a document could become YAML. ``utility`` as in
    ``card``.
    """
    header, title = _header(evidence), escaped(publication.publishable(evidence).title)
    section = card(evidence, public=True, utility=utility)
    return f"---\n{header}---\n\n# {title}\n\n{section}"


def _header(evidence: Evidence) -> str:
    pipeline = next(
        (name for kind, name in _PIPELINES.items() if kind in evidence.learner),
        "tabular-classification",
    )
    tags = "".join(f"- {tag}\n" for tag in _TAGS)
    return f"library_name: reticent\npipeline_tag: {pipeline}\ntags:\n{tags}"

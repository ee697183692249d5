"""Evidence along the questions of EDPB Opinion 28/2024: what was tested, found and left open.

The Opinion (on certain data protection aspects related to the processing of personal data in the
context of AI models, adopted on 17 December 2024) asks for a case-by-case assessment. An annex
gives technical facts for it. It claims no compliance, and says so.
"""

from collections.abc import Iterable

from reticent.report import card, numbers, publication
from reticent.report.evidence import Evidence
from reticent.report.markdown import bullets, code, escaped, table
from reticent.report.wording import INTERNAL, LEFT_OUT, REFUTED
from reticent.results import Attack

PURPOSE = """\
This annex lists technical evidence along the questions that Opinion 28/2024 of the European Data
Protection Board (adopted on 17 December 2024) raises about AI models trained on personal data. For
a model to be considered anonymous, the Opinion asks that two likelihoods be insignificant, taking
into account all the means reasonably likely to be used by the controller or by another person:
that personal data of those in the training data are extracted from the model itself, and that they
are obtained, intentionally or not, from queries to it. It leaves the assessment to each case.

**This annex claims no compliance** with the Opinion, with the GDPR or with any other rule, does not
say that the model is anonymous, and is not legal advice. It was written by a program that knows
what was computed, and not how the model is used, who can reach it or what else they know."""
KINDS = (
    ("attribute inference", "a record's hidden attribute guessed with the model's help"),
    ("exfiltration", "training data or the model taken out of where they are kept"),
    ("regurgitation of training data", "answers that repeat training records"),
    ("model inversion and reconstruction", "training records rebuilt from weights or answers"),
)
TO_DECIDE = (
    "who may reach the model (its weights, its answers), and what they may know besides",
    "why this unit, ε and δ were chosen, by whom and when",
    "where the training data came from, and what was done to need less of them",
    "advice of the data protection officer, and the impact assessment where there is one",
    "who checked each stated assumption, and how",
    "what those who deploy the model are told",
)
RETEST = (
    "the model is trained or released anew, or another release is made on the same data",
    "features, encoder or the way in which answers are shown change",
    "an attack is published that is stronger than those listed above, or more data that an"
    " adversary can use",
    "a stated assumption is found to be wrong, or the software corrects an ε (see its changelog)",
)


def annex(evidence: Evidence, *, public: bool = False) -> str:
    """The annex as a whole; ``public`` leaves out what no guarantee covers."""
    if public:
        evidence = publication.publishable(evidence)
    sections = {
        "What was released": f"{card.guarantee(evidence)}\n\n{card.mechanism(evidence)}",
        "Can personal data be extracted from the model itself?": _extraction(evidence, public),
        "Can personal data be obtained from its answers?": _answers(evidence, public),
        "Which attacks were tested, and which were not?": _kinds(evidence, public),
        "What holds against attacks nobody has thought of?": _theory(evidence, public),
        "Residual risk and limits": _residual(evidence, public),
        "Documentation of decisions": _decisions(evidence, public),
        "When to test again": f"Test again when\n\n{bullets(RETEST)}",
    }
    parts = [
        "# Evidence annex: personal data and this model",
        f"> {LEFT_OUT if public else INTERNAL}",
        *([f"> {REFUTED}"] if evidence.refuted else []),
        PURPOSE,
    ]
    for number, (title, text) in enumerate(sections.items(), start=1):
        parts += [f"## {number}. {title}", text]
    return "\n\n".join(parts) + "\n"


def _extraction(evidence: Evidence, public: bool) -> str:
    """Whoever holds the weights; released ones are public, so this is everybody."""
    lead = "The released weights are public: everybody can look into them."
    attacks = evidence.attacks(protected=True, black_box=False)
    return _asked(lead, "that look into the released model", attacks, public)


def _answers(evidence: Evidence, public: bool) -> str:
    """Whoever can ask."""
    lead = "The model answers with classes, probabilities or numbers, never with records."
    attacks = evidence.attacks(protected=True, black_box=True)
    return _asked(lead, "that see its answers alone", attacks, public)


def _asked(lead: str, kind: str, attacks: tuple[Attack, ...], public: bool) -> str:
    if public:
        return f"{lead} What attacks gave is kept by whoever made the release."
    if not attacks:
        return f"{lead} **Not tested:** there are no results of attacks {kind}."
    rows = [
        (escaped(attack.name), str(attack.auc), str(attack.leakage), escaped(attack.verdict))
        for attack in attacks
    ]
    columns = ("attack", "AUC", "TPR − FPR", "verdict")
    return f"{lead} Membership inference by attacks {kind}:\n\n{table(columns, rows)}"


def _kinds(evidence: Evidence, public: bool) -> str:
    """The families of attacks that the Opinion names."""
    before, after = (evidence.attacks(protected=protected) for protected in (False, True))
    tried = ", ".join(dict.fromkeys(escaped(attack.name) for attack in (*before, *after)))
    if public:
        tested = "results are kept by whoever made the release"
    else:
        tested = f"tested: {tried}" if tried else "**not tested**"
    meant = "whether a record was in the training data"
    rows = [("membership inference", meant, tested)]
    rows += [(name, what, "**not tested** by this program") for name, what in KINDS]
    shown = table(("kind of attack", "what it is", "tested?"), rows)
    return shown if public else f"{shown}\n\n{card.attack_summary(evidence)}"


def _theory(evidence: Evidence, public: bool) -> str:
    """The guarantee, the assumptions and the audit."""
    claim = evidence.claim
    if claim.grade in ("proven", "declared"):
        lead = (
            f"Differential privacy bounds every attack on one unit, whatever its kind: with"
            f" {numbers.epsilon_of(claim)}, anything that an adversary does with the release is at"
            f" most e^ε times as likely as on a neighbouring data set, but for δ. This includes the"
            f" kinds that were not tested. It holds as far as the assumptions do."
        )
    else:
        lead = (
            f"Nothing: {numbers.epsilon_of(claim)} is no worst-case guarantee. The kinds that were"
            " not tested are open."
        )
    audit = [] if public else ["Audit of the claim:", card.audit_lines(evidence)]
    return "\n\n".join((lead, card.assumptions(claim), *audit, card.how_to_verify(evidence)))


def _residual(evidence: Evidence, public: bool) -> str:
    """What was found on the release, what could not be, and what is not promised."""
    uncovered = f"Not covered by the guarantee:\n\n{card.not_covered(evidence)}"
    if public:
        return uncovered
    leaks = [escaped(attack.name) for attack in evidence.attacks(protected=True) if attack.leaks]
    leak_lines = (
        [f"**A leak was found on the released model** by {', '.join(leaks)}."] if leaks else []
    )
    limits = [*leak_lines, *_smallest(evidence)]
    return "\n\n".join([*([bullets(limits)] if limits else []), uncovered])


def _smallest(evidence: Evidence) -> Iterable[str]:
    """What so many records could not have shown."""
    sizes = [attack.smallest_auc for attack in evidence.attacks(protected=True)]
    known = [size for size in sizes if size is not None]
    if known:
        yield (
            f"**Limits of the tests:** with so many records, leaks below an AUC of"
            f" {max(known):.3f} are missed with a probability of more than 5 %."
        )
    if len(known) < len(sizes):
        yield "**Limits of the tests:** some attacks had too few records to show anything at all."


def _decisions(evidence: Evidence, public: bool) -> str:
    """What the run recorded, and what only people can add."""
    parts = []
    if evidence.run is not None and not public:
        made = evidence.run.made
        parts += [
            f"Recorded by the run of {escaped(made.created)}, seed {made.seed}:",
            code(f"$ {made.command}"),
            bullets(f"{escaped(name)}: {escaped(value)}" for name, value in made.settings.items()),
        ]
    parts += ["To be added by whoever decides to publish:", bullets(f"[ ] {x}" for x in TO_DECIDE)]
    return "\n\n".join(parts)

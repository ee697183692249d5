"""Sentences that a card and an annex share: what grades mean, and what no ε covers."""

from typing import Final

INTERNAL: Final = (
    "**Internal.** Attack results, audits and accuracies below are computed from private records"
    " without noise: no guarantee covers them. `--public` writes this without them."
)
LEFT_OUT: Final = (
    "Results of attacks, audits and accuracies on private records are left out: they are computed"
    " without noise, and no guarantee would cover them."
)
ON_PUBLIC_RECORDS: Final = (
    "on public test records; it stands in no certificate: whoever has these records measures it"
    " anew with `reticent predict`"
)
REFUTED: Final = "**The audit refuted this claim.** The release does not keep what it promises."
UNAUDITED: Final = (
    "This release was not audited: its claim rests on its assumptions alone (`reticent audit`)."
)
NEIGHBOURS: Final = {
    "add-remove": "add-remove: a data set with all records of whoever is protected, and the same"
    " without them.",
    "replace-one": "replace-one: a data set with all records of whoever is protected, and the same"
    " with others in their place.",
}
NOT_COVERED: Final = (
    "**Other releases on the same data:** each has its own ε, and they add up. A ledger keeps"
    " count (`reticent ledger`).",
    "**Side outputs:** accuracies, losses, attack results, logs, timings, and models that were"
    " trained on the way and not released.",
    "**Choices made on private data:** a penalty, a class list or one release among several, picked"
    " by what they gave on the records.",
    "**Records of the same person beyond the unit:** k units of one person are protected k times"
    " less, with k·ε and a larger δ.",
    "**Properties of groups:** what a model teaches about people like those in the data holds for"
    " each of them, whether in the data or not. Differential privacy does not hide it.",
    "**What is known from elsewhere:** facts about a person that do not depend on their record.",
    "**The inputs of those who use the model:** queries are not protected by how it was trained.",
    "**The computer it was made on:** memory, swap and copies of the private records.",
)
RECOMMENDED: Final = (
    "Publish the two released files and nothing else that was computed from the private records.",
    "Verify before use, and read the stated assumptions: they are yours to check.",
    "Charge each further release on the same data to one ledger.",
    "Attack and audit anew when the data, the features, the model or known attacks change.",
)

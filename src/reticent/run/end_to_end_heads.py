"""Commands on a table of numbers that stand beside ``protect --learner``.

A head that ``fit`` found and ``protect --fit`` releases; a network by ``train``; a number to
predict, within a range that is typed; every place for noise side by side.
"""

import dataclasses
import io
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.audit.end_to_end.adversarial import LABEL, TARGET, Shape
from reticent.audit.end_to_end.releases import Audited
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.audit.end_to_end.settings import TARGET_BOUND, Settings
from reticent.audit.end_to_end.table import Table, Writing
from reticent.guarantee import Guarantee
from reticent.protect.registry import RECIPES, classifiers
from reticent.run import end_to_end_calls as calls
from reticent.run.protections import LONGEST
from reticent.validation import InputError

TRAINED_ON: Final = 2_000
"""The largest N of a training, whose steps grow with it."""
_TEST_RECORDS: Final = 18
_NETWORK: Final = "network"


def public_test_rows(shape: Shape) -> tuple[Any, list[str]]:
    """Public records that score a model, and their labels."""
    rows = np.cos(np.arange(_TEST_RECORDS * shape.width)).reshape(-1, shape.width)
    return rows, [shape.classes[i % len(shape.classes)] for i in range(_TEST_RECORDS)]


def public_test_file(shape: Shape, folder: Path) -> Path:
    """The same as a table of columns."""
    rows, labels = public_test_rows(shape)
    columns: dict[str, Any] = {
        name: rows[:, place].tolist() for place, name in enumerate(shape.features)
    }
    return Table(columns | {LABEL: labels}).write(folder / "test.csv", Writing())


def delta_words(settings: Settings) -> list[str]:
    """δ as a command is told it."""
    return ["--delta", str(settings.delta)] if settings.delta else ["--pure"]


def fit_command(settings: Settings, path: Path, folder: Path) -> Path:
    """The private file that ``fit`` writes of this table."""
    place = folder / "head"
    numbers = {"--bound": settings.bound, "--penalty": settings.penalty, "--norms": settings.norms}
    calls.command(
        ["fit", *calls.table_words(settings, path), *calls.as_words(numbers), "--out", str(place)]
    )
    return place


def _protect_a_fit(settings: Settings) -> Release:
    """``fit``, and ``protect --fit``, which certifies the head anew from where the file starts."""

    def release(path: Path) -> Published:
        with calls.folder_beside(path) as folder:
            fit = fit_command(settings, path, folder)
            words = calls.table_words(settings, path, but=("--classes", "--records"))
            noise = ["--mechanism", settings.mechanism, *delta_words(settings)]
            return calls.protect_command(["protect", *words, *noise, "--fit", str(fit)])

    return release


def _train(settings: Settings) -> Release:
    """``train`` on numbers."""
    settings = settings.covered_by(_NETWORK)
    settings = dataclasses.replace(settings, records=min(settings.records, TRAINED_ON))

    def release(path: Path) -> Published:
        numbers = {f"--{name}": settings.options(_NETWORK)[name] for name in ("batch", "epochs")}
        noise = ["--mechanism", settings.mechanism, "--delta", str(settings.delta)]
        words = [*calls.table_words(settings, path), *calls.as_words(numbers), *noise]
        return calls.protect_command(["train", "--model", "mlp", *words])

    return release


def _protect_a_number(settings: Settings) -> Release:
    """``protect --target-range`` on a table whose label is a number."""

    def release(path: Path) -> Published:
        words = calls.table_words(settings, path, but=("--label", "--classes"))
        spread = f"{-TARGET_BOUND},{TARGET_BOUND}"
        label = ["--label", TARGET, f"--target-range={spread}", "--bound", str(settings.bound)]
        noise = ["--mechanism", settings.mechanism, *delta_words(settings)]
        learner = ["--learner", "adassp-regression"]
        return calls.protect_command(["protect", *words, *label, *noise, *learner])

    return release


def _compare(settings: Settings) -> Release:
    """``compare-protections``: one draw of one of them, and its attack.

    The rest of what it prints is as private as the records, and says so.
    """
    noise = "gaussian" if settings.delta else "laplace"  # the comparison's own choice
    compared = [
        name
        for name in classifiers()
        if name not in LONGEST and (not RECIPES[name].noises or noise in RECIPES[name].noises)
    ]
    chosen = compared[settings.records % len(compared)]

    def release(path: Path) -> Published:
        with calls.folder_beside(path) as folder:
            test = public_test_file(settings.shape, folder)
            words = [*calls.table_words(settings, path), *delta_words(settings)]
            words += ["--test", str(test)]
            few = ["--protections", chosen, "--draws", "1", "--attacks", "loss", "--json"]
            out = io.StringIO()
            calls.command(["compare-protections", *words, *few], out=out)
        comparison = json.loads(out.getvalue())
        for why in comparison["skipped"].values():
            raise InputError(why)
        (row,) = comparison["rows"]
        claim = row["claim"]
        known = {name: value for name, value in claim.items() if name != "text"}
        return Published(claims=(Covered(Guarantee.from_dict(known)),), outputs=b"")

    return release


COMMANDS: Final[dict[str, Audited]] = {
    "protect --fit (command)": Audited(build=_protect_a_fit),
    "protect --target-range (command)": Audited(
        build=_protect_a_number, targets=True, embedded=False
    ),
    "train (command)": Audited(build=_train, records_alone=True),
    "compare-protections (command)": Audited(
        build=_compare, embedded=False, records_alone=True, tame=True
    ),
}

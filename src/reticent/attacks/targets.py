"""Everything that can be attacked, behind one interface: logits, one column per class.

Where a model shows probabilities only, its logits are their logarithms: equal up to a constant in
each row, which no attack here depends on.

``Threat`` says what the adversary sees of a target, and what else is known to it.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import special

from reticent.arrays import Array, ArrayLike, Floats, Floats32, Integers
from reticent.attacks.records import Records
from reticent.data.columns import open_columns
from reticent.training import SigmoidHead
from reticent.validation import InputError, count, float_array


class Access(Enum):
    """What is seen of the target."""

    SCORES = "black box: probabilities of all classes"
    TOP_SCORES = "black box: the largest probabilities only"
    ROUNDED_SCORES = "black box: rounded probabilities"
    LABELS = "black box: labels only"
    NUMBERS = "black box: predicted numbers"
    LABEL_SCORES = "black box: the probability of each label"
    WEIGHTS = "white box: the trained weights"
    RELEASE = "white box: the released weights and the mechanism"
    STATISTICS = "released means"
    ENCODER = "the encoder's features of chosen inputs"
    GENERATOR = "black box: samples of a generative model"
    DISCRIMINATOR = "white box: the discriminator of a generative model"


@dataclass(frozen=True, kw_only=True)
class Threat:
    """Part of every attack, and printed with what it finds.

    >>> print(Threat(access=Access.SCORES, knows=("shadow data",)))
    black box: probabilities of all classes; knows: shadow data
    """

    access: Access
    knows: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The access, then the knowledge."""
        return f"{self.access.value}; knows: {', '.join(self.knows) or 'nothing else'}"


_SMALLEST = 1e-300
"""A probability of 0 has no logarithm; all of them rank alike."""
_MOST_DECIMALS = 15
"""A float64 below 1 has no more of its own."""
_OFF_BY = 1e-3
"""Probabilities of a row may miss 1 by this much (they were rounded by whoever wrote them)."""


class Target(ABC):
    """A model as an adversary sees it."""

    access: ClassVar[Access] = Access.SCORES
    classes: Array

    @abstractmethod
    def logits(self, inputs: ArrayLike) -> Floats:
        """One row per query, one column per class."""

    def probabilities(self, inputs: ArrayLike) -> Floats:
        """The softmax of the target's logits, a row per input."""
        return np.asarray(special.softmax(self.logits(inputs), axis=1))

    def labels(self, inputs: ArrayLike) -> Integers:
        """The index of the most probable class."""
        return np.asarray(self.logits(inputs).argmax(axis=1), dtype=np.int64)


class ModelTarget(Target):
    """A fitted head of ours, or any estimator with ``predict_proba`` and ``classes_``."""

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "classes_"):
            raise InputError(f"target must be fitted (have classes_), got {type(model).__name__}")
        if _has_several_labels(model):
            raise InputError(
                "target must give each record one label, got a sigmoid head, which gives several"
            )
        self.model = model
        self.classes = np.asarray(model.classes_)

    def logits(self, inputs: ArrayLike) -> Floats:
        """The model's own where it has them."""
        if hasattr(self.model, "logits"):
            logits = float_array("logits of the target", self.model.logits(inputs))
            return _matching(logits, len(np.asarray(inputs)), len(self.classes))
        answers = float_array("probabilities of the target", self.model.predict_proba(inputs))
        return _logarithms(_matching(answers, len(np.asarray(inputs)), len(self.classes)))


class FunctionTarget(Target):
    """A function from inputs to probabilities."""

    def __init__(self, function: Callable[[Any], ArrayLike], *, classes: Sequence[Any]) -> None:
        if not callable(function):
            raise InputError(f"function must be callable, got {type(function).__name__}")
        self._function = function
        self.classes = _distinct(classes)

    def logits(self, inputs: ArrayLike) -> Floats:
        """Logarithms of what the function answers."""
        answers = float_array("answers of the target", self._function(inputs))
        return _logarithms(_matching(answers, len(np.asarray(inputs)), len(self.classes)))


class TorchTarget(Target):
    """A torch module from a batch of inputs to logits; evaluated as it stands, without training."""

    def __init__(self, module: Any, *, classes: Sequence[Any], batch: int = 512) -> None:
        if not (callable(module) and hasattr(module, "modules")):
            raise InputError(f"module must be a torch module, got {type(module).__name__}")
        self.module = module
        self.classes = _distinct(classes)
        self._batch = count("batch", batch)

    def logits(self, inputs: ArrayLike) -> Floats:
        """In batches, float32 in, float64 out; the mode of each submodule is put back."""
        import torch

        rows = _numbers(inputs)
        place = next((weights.device for weights in self.module.parameters()), None)
        modes = [(part, part.training) for part in self.module.modules()]
        self.module.eval()
        try:
            with torch.no_grad():
                parts = [
                    _answers(self.module(torch.tensor(rows[start : start + self._batch]).to(place)))
                    for start in range(0, len(rows), self._batch)
                ]
        finally:
            for part, training in modes:
                part.training = training
        logits = np.concatenate(parts) if parts else np.empty((0, len(self.classes)))
        checked = float_array("logits of the target", logits)
        return _matching(checked, len(rows), len(self.classes))


class AnsweredTarget(Target):
    """Somebody else's probabilities: a query is the number of a row in them."""

    def __init__(self, probabilities: ArrayLike, *, classes: Sequence[Any]) -> None:
        answers = np.atleast_1d(float_array("probabilities", probabilities))
        self.classes = _distinct(classes)
        self._logits = _logarithms(_matching(answers, len(answers), len(self.classes)))

    @classmethod
    def read(cls, path: str | Path) -> "AnsweredTarget":
        """A CSV or parquet file with one column of probabilities for each class, named by it."""
        table = open_columns(Path(path))
        columns = [table.column(name, role="class") for name in table.names]
        kinds = {(column.shape[1:], column.dtype.kind in "iuf") for column in columns}
        if kinds != {((), True)} or len({len(column) for column in columns}) > 1:
            raise InputError(
                f"{table.file} must hold one column of numbers for each class, got texts or lists"
            )
        return cls(np.stack(columns, axis=1).astype(np.float64), classes=table.names)

    def __len__(self) -> int:
        return len(self._logits)

    def logits(self, inputs: ArrayLike) -> Floats:
        """The rows with these numbers."""
        rows = np.asarray(inputs)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise InputError(f"queries must be numbers of rows, got an array of {rows.dtype}")
        if rows.size and not 0 <= rows.min() <= rows.max() < len(self):
            raise InputError(f"queries must be rows 0 to {len(self) - 1}, got others")
        logits: Floats = self._logits[rows]
        return logits


class TopTarget(Target):
    """What is left where only the k largest probabilities are shown: the rest shares evenly."""

    access = Access.TOP_SCORES

    def __init__(self, target: Any, *, shown: int) -> None:
        self._target = target_of(target)
        self.classes = self._target.classes
        self._shown = count("shown", shown)

    def logits(self, inputs: ArrayLike) -> Floats:
        """Logarithms of what is shown, and of an even share of the rest."""
        answers = self._target.probabilities(inputs)
        hidden = len(self.classes) - self._shown
        if hidden <= 0:
            return _logarithms(answers)
        rest = np.argpartition(answers, hidden - 1, axis=1)[:, :hidden]
        share = np.take_along_axis(answers, rest, axis=1).mean(axis=1, keepdims=True)
        np.put_along_axis(answers, rest, share, axis=1)
        return _logarithms(answers)


class RoundedTarget(Target):
    """Probabilities rounded to some decimals."""

    access = Access.ROUNDED_SCORES

    def __init__(self, target: Any, *, decimals: int) -> None:
        self._target = target_of(target)
        self.classes = self._target.classes
        self._decimals = count("decimals", decimals, at_least=0)
        if self._decimals > _MOST_DECIMALS:
            raise InputError(f"decimals must be at most {_MOST_DECIMALS}, got {decimals}")

    def logits(self, inputs: ArrayLike) -> Floats:
        """A probability that was rounded to 0 counts as a quarter of the last decimal."""
        rounded = np.round(self._target.probabilities(inputs), self._decimals)
        return np.log(np.maximum(rounded, 0.25 * 10.0**-self._decimals))


class LabelTarget(Target):
    """Labels only: the chosen class has probability 1."""

    access = Access.LABELS

    def __init__(self, target: Any) -> None:
        self._target = target_of(target)
        self.classes = self._target.classes

    def logits(self, inputs: ArrayLike) -> Floats:
        """0 for the label, a very low number elsewhere."""
        chosen = np.eye(len(self.classes))[self._target.labels(inputs)]
        return _logarithms(chosen)


def target_of(model: Any) -> Target:
    """The model itself if it is a target, or a fitted model as one."""
    if isinstance(model, Target):
        return model
    if hasattr(model, "logits") or hasattr(model, "predict_proba"):
        return ModelTarget(model)
    raise InputError(
        "target must be a fitted model with predict_proba or one of reticent.attacks.targets,"
        f" got {type(model).__name__}"
    )


def imported(role: str, name: str) -> Any:
    """The object that ``module:attribute`` names; importing runs the code of that module."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise InputError(f"{role} must be written module:attribute, got {name!r}")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError) as error:  # a TypeError for a name like .x
        reason = str(error).partition("\n")[0]
        raise InputError(f"{role} {name!r} must be importable, got: {reason}") from None


def imported_target(name: str, *, classes: Sequence[Any] | None = None) -> Target:
    """``module:attribute``: a fitted model, a target, or a function that gives probabilities."""
    model = imported("target", name)
    if isinstance(model, Target) or hasattr(model, "classes_"):
        return target_of(model)
    if classes is None:
        raise InputError(f"classes must be given for {name!r}, which has none itself")
    if hasattr(model, "state_dict"):
        return TorchTarget(model, classes=classes)
    return FunctionTarget(model, classes=classes)


def _has_several_labels(model: Any) -> bool:
    """Whether its logits are no softmax's: a SigmoidHead, or what was released of one."""
    released = getattr(model, "public", None)
    return isinstance(model, SigmoidHead) or getattr(released, "outputs", None) == "sigmoid"


def _numbers(inputs: ArrayLike) -> Floats32:
    rows = np.asarray(inputs)
    if rows.dtype.kind not in "biuf":
        raise InputError(f"inputs of a torch module must be numbers, got {rows.dtype}")
    return rows.astype(np.float32)


def _answers(outputs: Any) -> Floats:
    if not hasattr(outputs, "detach"):
        raise InputError(f"module must answer with one tensor, got {type(outputs).__name__}")
    return np.asarray(outputs.detach().cpu().numpy(), dtype=np.float64)


def _matching(answers: Floats, rows: int, classes: int) -> Floats:
    if answers.shape != (rows, classes):
        raise InputError(
            f"target must answer {rows} records with {classes} numbers each, got {answers.shape}"
        )
    return answers


def _logarithms(answers: Floats) -> Floats:
    wrong = (answers < 0).any(axis=1) | ~(np.abs(answers.sum(axis=1) - 1) <= _OFF_BY)
    if wrong.any():
        raise InputError(
            f"probabilities must be >= 0 and add up to 1, row {int(np.argmax(wrong))} does not"
        )
    return np.log(np.maximum(answers, _SMALLEST))


def _distinct(classes: Sequence[Any]) -> Array:
    names = np.asarray(list(classes))
    if names.ndim != 1 or len(names) < 2 or len(set(names.tolist())) != len(names):
        raise InputError("classes must be at least 2 different ones, got fewer")
    return names


class RecordedTarget(Target):
    """The rows of an answered target, one for each of these records in their order.

    A shadow model is asked with features, so the target must be too. Of equal records the first
    one's answer stands for all, unless all records are asked in their order.
    """

    def __init__(self, answers: AnsweredTarget, records: Records) -> None:
        if len(answers) != len(records):
            raise InputError(
                f"answers must be one row for each of {len(records)} records, members first and"
                f" then the others, got {len(answers)}"
            )
        self.classes = answers.classes
        self._logits = answers.logits(np.arange(len(answers)))
        self._inputs = records.inputs
        self._places: dict[bytes, int] = {}
        for place, key in enumerate(_keys(records.inputs)):
            self._places.setdefault(key, place)

    def logits(self, inputs: ArrayLike) -> Floats:
        """Of records that were answered; others are refused."""
        asked = np.asarray(inputs)
        if np.array_equal(asked, self._inputs):
            return self._logits
        places = [self._places.get(key, -1) for key in _keys(asked)]
        if min(places, default=0) < 0:
            raise InputError("queries must be records that were answered, got others")
        return self._logits[places]


def _keys(inputs: Array) -> tuple[bytes, ...]:
    return Records(inputs, np.zeros(len(inputs), dtype=np.int64)).keys

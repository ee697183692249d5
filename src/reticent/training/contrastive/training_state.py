"""Everything that training changes, and the file from which it goes on after a stop."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from reticent.training.encoders.sealed_file import read_sealed, write_sealed
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError

FORMAT: Final = "reticent-simclr-state-1"
_GENERATOR: Final = "generator"
_OPTIMISER: Final = "optimiser"


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """One line of the log."""

    epoch: int
    loss: float
    contrastive_accuracy: float
    seconds: float
    images_per_second: float


@dataclass(kw_only=True)
class TrainingState:
    """Encoder, projection head, optimiser and generator after the epochs in ``history``."""

    encoder: nn.Module
    projection: nn.Module
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    history: list[EpochRecord] = field(default_factory=list)

    def save(self, path: Path, run: dict[str, Any]) -> None:
        """Write the state of this run, whole or not at all."""
        document = {"run": run, "history": [asdict(record) for record in self.history]}
        write_sealed(path, self._tensors(), document, format=FORMAT)

    def restore(self, path: Path, run: dict[str, Any]) -> None:
        """Go back to a saved state, if it is one of this run: same settings, same images."""
        document, tensors = read_sealed(path, format=FORMAT)
        for part, wanted in run.items():
            if document.get("run", {}).get(part) != wanted:
                raise InputError(
                    f"{path} must be the state of a run with the same {part}, got another:"
                    " remove it, or give the settings and images it was made with"
                )
        try:
            self._load(tensors)
            self.history = [EpochRecord(**record) for record in document["history"]]
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise InputError(f"{path} must be a state of this version, got another") from None

    def _tensors(self) -> dict[str, torch.Tensor]:
        tensors = {_GENERATOR: self.generator.get_state()}
        for part in ("encoder", "projection"):
            for name, tensor in getattr(self, part).state_dict().items():
                tensors[f"{part}.{name}"] = tensor
        for index, values in self.optimiser.state_dict()["state"].items():
            for name, tensor in values.items():
                tensors[f"{_OPTIMISER}.{index}.{name}"] = tensor
        return tensors

    def _load(self, tensors: dict[str, torch.Tensor]) -> None:
        self.generator.set_state(tensors[_GENERATOR])
        for part in ("encoder", "projection"):
            getattr(self, part).load_state_dict(_below(part, tensors))
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in _below(_OPTIMISER, tensors).items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = tensor
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})


def _below(part: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(f"{part}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{part}.")
    }

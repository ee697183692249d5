"""A network of timm in two parts: what lies below its last block, and that block with the rest.

Which modules are blocks is said by timm itself (``group_matcher``, by which its fine-tuning tells
layers apart); the last of them that has weights is trained. Only the methods that lead to it are
traced (torch.fx), so a cut is exact: it is refused where anything but the block's one input passes
it, and where both parts together do not give what the whole network gives.
"""

import copy
import re
from typing import Any, Final, NamedTuple

from torch import fx

from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError

Tensor = torch.Tensor
_BATCH_NORM: Final = nn.modules.batchnorm._BatchNorm
_POSITIONS: Final = re.compile("rel_pos|relative_position")
_CLOSE: Final = 1e-5


class Features(nn.Module):
    """What the classifier of a network of timm reads, a row for each image."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """Through all layers but the classifier."""
        network: Any = self.network
        rows: Tensor = network.forward_head(network.forward_features(images), pre_logits=True)
        return rows


class Parts(NamedTuple):
    """Two modules, one after the other, and the name of the block in the second."""

    below: nn.Module
    above: nn.Module
    block: str


def cut_below_last_block(features: Features, image: Tensor) -> Parts:
    """The parts, which share no weights; all weights but those of the block are frozen.

    A batch norm inside of the block keeps its weights and statistics: with them it is a fixed
    affine map of each channel. Batch statistics would mix the records of a batch. What attention
    adds for the distance of two positions stays public too: it is one for all records, and nobody's
    row of it can be told apart.
    """
    block = f"network.{last_block(features.network)}"
    graph = _traced(features, block)
    below, above = _split(graph, block)
    features.requires_grad_(False)
    parts = Parts(
        fx.GraphModule(features, below, "Below"),
        copy.deepcopy(fx.GraphModule(features, above, "Above")),
        block,
    )
    with torch.no_grad():
        whole, joined = features(image), parts.above(parts.below(image))
    if not torch.allclose(whole, joined, rtol=_CLOSE, atol=_CLOSE):
        raise _uncut("its parts do not give what it gives")
    for parameter in _to_train(parts.above.get_submodule(block)):
        parameter.requires_grad_(True)
    return parts


def last_block(network: nn.Module) -> str:
    """The name of the last block with weights that may be trained."""
    matcher: Any = getattr(network, "group_matcher", None)
    matchers = matcher(coarse=False)["blocks"] if callable(matcher) else []
    patterns = (
        [matchers]
        if isinstance(matchers, str)
        else [one for one, place in matchers if place is None]
    )
    blocks: list[str] = [
        name
        for name, module in network.named_modules()
        if any(re.fullmatch(pattern, name) for pattern in patterns) and _to_train(module)
    ]
    if not blocks:
        raise _uncut("timm does not say what its blocks are")
    return blocks[-1]


def _to_train(module: nn.Module) -> list[nn.Parameter]:
    """Its weights but those of batch norms and of relative positions."""
    return [
        parameter
        for owner, one in module.named_modules()
        if not isinstance(one, _BATCH_NORM)
        for name, parameter in one.named_parameters(recurse=False)
        if not _POSITIONS.search(f"{owner}.{name}")
    ]


class _Tracer(fx.Tracer):
    """Looks into what holds the block, and takes all other modules whole."""

    def __init__(self, block: str) -> None:
        super().__init__()
        self._block = block

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:  # noqa: ARG002
        """Whether a module is one step of the graph."""
        return not self._block.startswith(f"{module_qualified_name}.")


def _traced(features: Features, block: str) -> fx.Graph:
    try:
        return _Tracer(block).trace(features)
    except (fx.proxy.TraceError, TypeError, ValueError, AttributeError, RuntimeError):
        raise _uncut("what it does depends on what it is given") from None


def _split(graph: fx.Graph, block: str) -> tuple[fx.Graph, fx.Graph]:
    calls = [one for one in graph.nodes if one.op == "call_module" and one.target == block]
    if len(calls) != 1 or len(calls[0].all_input_nodes) != 1 or not calls[0].args:
        raise _uncut(f"{block} is not called once, with one tensor")
    (call,), (entry,) = calls, calls[0].all_input_nodes
    return _up_to(graph, entry), _from(graph, call, entry)


def _up_to(graph: fx.Graph, entry: fx.Node) -> fx.Graph:
    """All that the block's input is computed from."""
    below = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        copies[node] = below.node_copy(node, lambda one: copies[one])
        if node is entry:
            break
    below.output(copies[entry])
    return below


def _from(graph: fx.Graph, call: fx.Node, entry: fx.Node) -> fx.Graph:
    """The block and what comes after it; refused where that reads anything else from below."""
    above = fx.Graph()
    copies = {entry: above.call_method("clone", (above.placeholder("inputs"),))}
    # a layer may write into its input, which is kept for later steps: hence the copy

    def known(node: fx.Node) -> fx.Node:
        if node not in copies and node.op == "get_attr":
            copies[node] = above.node_copy(node)
        if node not in copies:
            raise _uncut(f"what comes after {call.target} reads {node.name} as well")
        return copies[node]

    nodes = list(graph.nodes)
    for node in nodes[nodes.index(call) :]:
        copies[node] = above.node_copy(node, known)
    return above


def _uncut(why: str) -> InputError:
    return InputError(
        f"network must be one that can be cut below its last block, got one where {why}: say"
        " FOLDER#head"
    )

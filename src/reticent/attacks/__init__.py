"""Membership inference: a target and records in, a score for each record out.

An attack never sees whether a record that it scores was a member. Modules are loaded with the first
use of a name: some attacks need torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reticent.attacks.attack import Attack, ScoreAttack, Scores
    from reticent.attacks.displacement import DisplacementAttack
    from reticent.attacks.encoder import EncoderLira, EncoderMI, ShadowEncoder, Views
    from reticent.attacks.generative import DiscriminatorAttack, LocalGANAttack
    from reticent.attacks.gradient_network import GradientAttack
    from reticent.attacks.gradients import GradientNormAttack
    from reticent.attacks.label_only import BoundaryAttack, GapAttack, NoiseAttack
    from reticent.attacks.lira import Lira
    from reticent.attacks.metric import MetricAttack
    from reticent.attacks.records import Records
    from reticent.attacks.reference import ReferenceAttack
    from reticent.attacks.released_means import Means, ReleasedMeansAttack
    from reticent.attacks.released_weights import ReleasedWeightsAttack
    from reticent.attacks.rmia import Rmia, tuned_a
    from reticent.attacks.salem import SalemAttack, SalemThreshold
    from reticent.attacks.shadow_network import AlmAttack, ShokriAttack
    from reticent.attacks.shadow_training import memberships, train_shadows
    from reticent.attacks.shadows import Shadows
    from reticent.attacks.targets import (
        AnsweredTarget,
        FunctionTarget,
        LabelTarget,
        ModelTarget,
        RoundedTarget,
        Target,
        TopTarget,
        TorchTarget,
        imported_target,
        target_of,
    )
    from reticent.attacks.threat import Access, Threat

__all__ = [
    "Access",
    "AlmAttack",
    "AnsweredTarget",
    "Attack",
    "BoundaryAttack",
    "DiscriminatorAttack",
    "DisplacementAttack",
    "EncoderLira",
    "EncoderMI",
    "FunctionTarget",
    "GapAttack",
    "GradientAttack",
    "GradientNormAttack",
    "LabelTarget",
    "Lira",
    "LocalGANAttack",
    "Means",
    "MetricAttack",
    "ModelTarget",
    "NoiseAttack",
    "Records",
    "ReferenceAttack",
    "ReleasedMeansAttack",
    "ReleasedWeightsAttack",
    "Rmia",
    "RoundedTarget",
    "SalemAttack",
    "SalemThreshold",
    "ScoreAttack",
    "Scores",
    "ShadowEncoder",
    "Shadows",
    "ShokriAttack",
    "Target",
    "Threat",
    "TopTarget",
    "TorchTarget",
    "Views",
    "imported_target",
    "memberships",
    "target_of",
    "train_shadows",
    "tuned_a",
]

_HOMES = {
    "Access": "threat",
    "AlmAttack": "shadow_network",
    "AnsweredTarget": "targets",
    "Attack": "attack",
    "BoundaryAttack": "label_only",
    "DiscriminatorAttack": "generative",
    "DisplacementAttack": "displacement",
    "EncoderLira": "encoder",
    "EncoderMI": "encoder",
    "FunctionTarget": "targets",
    "GapAttack": "label_only",
    "GradientAttack": "gradient_network",
    "GradientNormAttack": "gradients",
    "LabelTarget": "targets",
    "Lira": "lira",
    "LocalGANAttack": "generative",
    "Means": "released_means",
    "MetricAttack": "metric",
    "ModelTarget": "targets",
    "NoiseAttack": "label_only",
    "Records": "records",
    "ReferenceAttack": "reference",
    "ReleasedMeansAttack": "released_means",
    "ReleasedWeightsAttack": "released_weights",
    "Rmia": "rmia",
    "RoundedTarget": "targets",
    "SalemAttack": "salem",
    "SalemThreshold": "salem",
    "ScoreAttack": "attack",
    "Scores": "attack",
    "ShadowEncoder": "encoder",
    "Shadows": "shadows",
    "ShokriAttack": "shadow_network",
    "Target": "targets",
    "Threat": "threat",
    "TopTarget": "targets",
    "TorchTarget": "targets",
    "Views": "encoder",
    "imported_target": "targets",
    "memberships": "shadow_training",
    "target_of": "targets",
    "train_shadows": "shadow_training",
    "tuned_a": "rmia",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

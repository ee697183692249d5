"""Membership inference: a target and records in, a score for each record out.

An attack never sees whether a record that it scores was a member. Modules are loaded with the first
use of a name: some attacks need torch.
"""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.attacks.attack import Attack, ScoreAttack, Scores
    from reticent.attacks.attribute import AttributeInference
    from reticent.attacks.displacement import DisplacementAttack
    from reticent.attacks.encoder import EncoderLira, EncoderMI, ShadowEncoder
    from reticent.attacks.encoder_views import MaskedViews, StackedViews, Views
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
    from reticent.attacks.shadow_models import memberships, train_shadows
    from reticent.attacks.shadow_network import AlmAttack, ShokriAttack
    from reticent.attacks.shadows import Shadows
    from reticent.attacks.targets import Access, AnsweredTarget, ModelTarget, Target, Threat

__all__ = [
    "Access",
    "AlmAttack",
    "AnsweredTarget",
    "Attack",
    "AttributeInference",
    "BoundaryAttack",
    "DiscriminatorAttack",
    "DisplacementAttack",
    "EncoderLira",
    "EncoderMI",
    "GapAttack",
    "GradientAttack",
    "GradientNormAttack",
    "Lira",
    "LocalGANAttack",
    "MaskedViews",
    "Means",
    "MetricAttack",
    "ModelTarget",
    "NoiseAttack",
    "Records",
    "ReferenceAttack",
    "ReleasedMeansAttack",
    "ReleasedWeightsAttack",
    "Rmia",
    "SalemAttack",
    "SalemThreshold",
    "ScoreAttack",
    "Scores",
    "ShadowEncoder",
    "Shadows",
    "ShokriAttack",
    "StackedViews",
    "Target",
    "Threat",
    "Views",
    "memberships",
    "train_shadows",
    "tuned_a",
]

__getattr__ = lazy_exports(__name__)

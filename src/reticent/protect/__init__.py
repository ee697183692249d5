"""Releases: what leaves, with noise and a guarantee; recipes, certificates, answers per query."""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.protect.answers import (
        Answered,
        AnswerPlan,
        PrivateAnswers,
        calibrated_answers,
        charge_answers,
        numbers_of,
        private_answers,
        set_answer_budget,
    )
    from reticent.protect.certificate import Verification, load, save, verify
    from reticent.protect.estimators import (
        AdaSSPHead,
        AdaSSPRegressor,
        ClassMeansHead,
        LDAHead,
        MatrixLDAHead,
        NoisyGradientHead,
        PrivateNetwork,
        PureClassMeansHead,
    )
    from reticent.protect.mean import release_mean
    from reticent.protect.penalty import mean_share, public_penalty
    from reticent.protect.private_training import PrivateTraining
    from reticent.protect.recipe import Recipe, Step
    from reticent.protect.registry import RECIPES
    from reticent.protect.release import Release, release_records
    from reticent.protect.released_encoder import (
        ReleasedEncoder,
        composed_guarantee,
        encoder_from,
        release_encoder,
        use_encoder,
        use_start,
    )
    from reticent.protect.signing import make_keys, read_public_key, read_signer
    from reticent.protect.table import ReleaseRequest, release_table
    from reticent.protect.terms import Source, Terms
    from reticent.protect.training_progress import follow_training
    from reticent.protect.used_encoder import UsedEncoder, UsedStart
    from reticent.protect.weights import release_weights

__all__ = [
    "RECIPES",
    "AdaSSPHead",
    "AdaSSPRegressor",
    "AnswerPlan",
    "Answered",
    "ClassMeansHead",
    "LDAHead",
    "MatrixLDAHead",
    "NoisyGradientHead",
    "PrivateAnswers",
    "PrivateNetwork",
    "PrivateTraining",
    "PureClassMeansHead",
    "Recipe",
    "Release",
    "ReleaseRequest",
    "ReleasedEncoder",
    "Source",
    "Step",
    "Terms",
    "UsedEncoder",
    "UsedStart",
    "Verification",
    "calibrated_answers",
    "charge_answers",
    "composed_guarantee",
    "encoder_from",
    "follow_training",
    "load",
    "make_keys",
    "mean_share",
    "numbers_of",
    "private_answers",
    "public_penalty",
    "read_public_key",
    "read_signer",
    "release_encoder",
    "release_mean",
    "release_records",
    "release_table",
    "release_weights",
    "save",
    "set_answer_budget",
    "use_encoder",
    "use_start",
    "verify",
]

__getattr__ = lazy_exports(__name__)

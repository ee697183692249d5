"""Encoders: one and a head on its features, of the same people; ``simclr`` by its other ways."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from reticent import protect
from reticent.audit.end_to_end.releases import Audited, of_numbers, published, table_of
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.protect.noise_scales import noise_plan
from reticent.training.encoders.cache import cached_features

_ENCODER: Final = "prototypes"
_HEAD: Final = "class-means"


def _encoder_and_head(settings: Settings) -> Release:
    def run(path: Path) -> Published:
        data, asked = table_of(path, settings), settings.request(_ENCODER)
        asked = asked.for_rows_of(data)
        encoder = protect.release_encoder(data, asked)
        features = cached_features(data, protect.ReleasedEncoder(encoder), folder=False)
        request = _on_features(settings, asked.terms, encoder)
        head = protect.release_table(features, request)
        both = protect.composed_guarantee(head)
        assert both is not None
        queries = [
            sum(step.times for step in noise_plan(one.recipe, one.terms).values())
            for one in (encoder, head)
        ]
        return Published(
            claims=(
                Covered(both),
                Covered(encoder.guarantee, tuple(range(queries[0]))),
                Covered(head.guarantee, tuple(range(queries[0], sum(queries)))),
            ),
            outputs=published(encoder).outputs + published(head).outputs,
        )

    return run


def _on_features(
    settings: Settings, terms: protect.Terms, encoder: protect.Release
) -> protect.ReleaseRequest:
    """The head's terms are the encoder's, and it says whose records made the encoder."""
    return protect.ReleaseRequest(
        terms=protect.Terms(
            epsilon=terms.epsilon,
            delta=terms.delta,
            relation=terms.relation,
            max_records_per_person=terms.max_records_per_person,
            encoder=protect.use_encoder(encoder, "same"),
        ),
        records=settings.records,
        recipe=_HEAD,
        mechanism=settings.mechanism,
    )


def by_way(settings: Settings, way: str) -> dict[str, Any]:
    """How ``simclr`` keeps images apart, beside the options of the settings."""
    del settings
    return {"way": way}


ENCODER_RELEASES: Final[dict[str, Audited]] = {
    "encoder and head": Audited(build=_encoder_and_head),
    **{
        f"simclr, {way}": Audited(
            build=of_numbers("simclr", partial(by_way, way=way)),
            targets=True,
            embedded=False,
            replaced_alone=True,
        )
        for way in ("released-embeddings", "logit-clipping")
    },
}
"""Beside the recipes of the registry: ``simclr`` stands there with public negatives."""

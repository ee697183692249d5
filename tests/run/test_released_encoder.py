"""A run on features of a released encoder: what it hands over says both guarantees."""

import numpy as np

from reticent.data import Dataset
from reticent.protect import (
    ReleasedEncoder,
    ReleaseRequest,
    composed_guarantee,
    release_encoder,
    use_encoder,
)
from reticent.run.releases import kinds, recommended_kind
from reticent.run.spec import RunData, RunSpec
from reticent.training.encoders.cache import cached_features

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(200, 5))
BUDGET = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove", "records": 100}


def part(rows):
    return Dataset(
        name="part",
        source="here",
        inputs=rows,
        labels=(rows[:, 0] > 0).astype(np.int64),
        classes=("no", "yes"),
    )


def test_every_release_of_a_run_states_the_encoder():
    asked = ReleaseRequest.of(**BUDGET, recipe="prototypes", components=2, clusters=2, rounds=1)
    encoder = release_encoder(part(ROWS[:100]), asked)
    features = [
        cached_features(part(rows), ReleasedEncoder(encoder), folder=False)
        for rows in (ROWS[:100], ROWS[100:])
    ]
    spec = RunSpec(**BUDGET, bound=2.0, epsilons=(1.0,), encoder=use_encoder(encoder, "same"))
    data = RunData.of(*features)

    class NoEstimates:
        by_grade = ()

    drawn = [recommended_kind(data, spec), *kinds(data, spec, NoEstimates)]
    assert len(drawn) > 2
    for kind in drawn:
        released = kind.draw()
        assert any("of the same people" in line for line in released.guarantee.stated)
        assert composed_guarantee(released).epsilon > 1.0

"""The demonstration: real data, a trained encoder, proven releases, an attack; and again."""

import dataclasses

import numpy as np
import pytest

from reticent.guarantee import Grade
from reticent.pipeline.demo import DemoSpec, demonstrate
from reticent.protect import save, verify

SMALL = dataclasses.replace(
    DemoSpec.quick(),
    encoder=dataclasses.replace(DemoSpec.quick().encoder, epochs=2, width=8),
    epsilons=(0.1, 1e4),
    mechanisms=(("gaussian", False), ("laplace", True)),
    draws=2,
    shadows=4,
)
PROVEN = "ε ≤ 10000 (proven)"


@pytest.mark.slow
def test_the_whole_way_and_again_from_the_cache(tmp_path):
    told = []
    found = demonstrate(SMALL, cache=tmp_path, stage=lambda *progress: told.append(progress))
    assert {stage for stage, _, _ in told} == {
        "SimCLR epochs", "encoding", "unprotected heads", "releases",
        "shadow models, online: unprotected", "attacks: unprotected",
        "shadow models, online: released", "attacks: released",
    }  # fmt: skip
    before, released, attacks = found.tables
    assert [row[0] for row in before.rows] == ["pixels", "SimCLR features"]
    assert float(before.rows[0][1]) > 0.8  # 0.94 ± 0.012
    assert [row[:2] for row in released.rows] == [
        ("gaussian", "0.1"), ("gaussian", "10000"), ("laplace", "0.1"), ("laplace", "10000"),
    ]  # fmt: skip
    assert float(released.rows[1][4]) > float(released.rows[0][4])
    assert "Grade: proven." in released.notes[0]
    assert [row[:2] for row in attacks.rows] == [
        ("unprotected", "loss"), ("unprotected", "lira-online"),
        *((PROVEN, name) for name in ("loss", "lira-online", "released-weights")),
    ]  # fmt: skip
    assert "the guarantee allows 1.000" in attacks.notes[-1]
    assert float(attacks.rows[-1][2].split()[0]) > 0.55  # 0.75 ± 0.016
    assert f"The head, {PROVEN}: leak found by" in " ".join(found.verdict)
    assert found.released.guarantee.grade is Grade.PROVEN
    assert found.released.guarantee.epsilon == 0.1
    save(found.released, tmp_path / "head")
    assert verify(tmp_path / "head").holds
    again = []
    second = demonstrate(SMALL, cache=tmp_path, stage=lambda *progress: again.append(progress))
    assert "SimCLR epochs" not in {stage for stage, _, _ in again}
    assert second.tables[0] == before
    assert not np.array_equal(second.released.coordinates, found.released.coordinates)


def test_the_parts_are_disjoint_and_nothing_is_chosen_on_them():
    for spec in (DemoSpec.full(), DemoSpec.quick()):
        assert set(spec.sizes) == {"public", "private", "others", "test"}
    assert sum(DemoSpec.full().sizes.values()) == 5000

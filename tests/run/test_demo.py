"""The demonstration: real digits, a trained encoder, the whole job; and again from the cache."""

import dataclasses
import json
import stat

import numpy as np
import pytest

from reticent.cli.main import run
from reticent.data import load
from reticent.protect import verify
from reticent.results import read_results
from reticent.results.reading import as_read
from reticent.run.demo import ENCODED, PIXELS, DemoSpec, _encoded, _state_name, parts_of

QUICK = DemoSpec.quick()
SIZES = {"public": 300, "private": 300, "others": 200, "own": 150}
SMALL = dataclasses.replace(
    QUICK,
    sizes=SIZES,
    encoder=dataclasses.replace(QUICK.encoder, epochs=2, width=8),
    run=dataclasses.replace(
        QUICK.run,
        records=SIZES["private"],
        epsilons=(1.0,),
        mechanisms=("gaussian",),
        penalties=(1e-3,),
        pairs=10,
        sampled=3,
        draws=2,
        beta=1e-7,
        jobs=1,
    ),
    outlier=500,
)


@pytest.mark.slow
@pytest.mark.usefixtures("few_transcripts")
def test_the_whole_way_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(DemoSpec, "quick", classmethod(lambda _: SMALL))
    out = tmp_path / "out"
    assert run(["demo", "--quick", "--out", str(out), "--json"]) == 0
    printed = capsys.readouterr()
    results = read_results(out / "results.json")
    assert as_read(json.loads(printed.out)) == results.model_dump(mode="json")
    assert {"report.html", "results.json", "released.json", "released.safetensors"} <= {
        path.name for path in out.iterdir()
    }
    assert stat.S_IMODE((out / "results.json").stat().st_mode) == 0o600
    assert verify(out / "released").holds
    assert results.made.command == "reticent demo --quick"
    facts = results.facts
    assert (facts.public, facts.private, facts.others, facts.test) == (300, 300, 200, 350)
    assert [one.name for one in results.features] == [PIXELS, ENCODED]
    assert results.features[0].width == facts.features == 64
    assert results.features[0].unprotected == results.unprotected.accuracy
    assert {one.grade for one in results.sensitivities} == {"declared", "sampled", "published"}
    assert results.refuted(grades=("proven", "declared")) == ()
    assert results.outlier.audit.verdict == "refuted"
    assert results.outlier.claim.grade == "published"
    assert results.exposure is not None
    images = parts_of(load(SMALL.data), SMALL)
    name = _state_name(SMALL, images["public"])
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [name]


@pytest.mark.slow
def test_the_encoder_is_trained_once(tmp_path):
    images, told = parts_of(load(SMALL.data), SMALL), []
    first, second = (
        _encoded(images, SMALL, tmp_path / "cache", lambda *stage: told.append(stage))
        for _ in range(2)
    )
    stages = [stage for stage, _, _ in told]
    assert stages.count("SimCLR epochs") == SMALL.encoder.epochs
    assert "SimCLR epochs" not in stages[stages.index("encoding") :]
    assert stages.count("encoding") == 2 * len(SIZES)
    for role in SIZES:
        assert np.array_equal(first[role].features, second[role].features)
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_parts_are_disjoint_and_have_the_classes_in_the_same_shares():
    for spec in (QUICK, dataclasses.replace(QUICK, sizes=SIZES)):
        images = parts_of(load(spec.data), spec)
        assert {role: len(data) for role, data in images.items()} == spec.sizes
        rows = [row.tobytes() for data in images.values() for row in data.features]
        assert len(set(rows)) == len(rows)
        shares = np.array([np.bincount(data.labels) / len(data) for data in images.values()])
        assert np.ptp(shares, axis=0).max() < 2 / min(spec.sizes.values())


@pytest.mark.parametrize("spec", [QUICK, DemoSpec.full()], ids=["quick", "full"])
def test_every_number_is_fixed_beforehand(spec):
    assert set(spec.sizes) == {"public", "private", "others", "own"}
    assert spec.run.records == spec.sizes["private"]
    assert spec.run.inferred_from_data == ()
    assert spec.run.epsilon in spec.run.epsilons
    assert sum(spec.sizes.values()) == {"digits": 1797, "mnist5k": 5000}[spec.data]


def test_another_encoder_or_other_images_have_another_place_in_the_cache():
    public = parts_of(load(QUICK.data), QUICK)["public"]
    other = dataclasses.replace(QUICK.encoder, epochs=QUICK.encoder.epochs + 1)
    names = {
        _state_name(QUICK, public),
        _state_name(QUICK, parts_of(load(QUICK.data), QUICK)["private"]),
        _state_name(dataclasses.replace(QUICK, encoder=other), public),
    }
    assert len(names) == 3
    assert _state_name(QUICK, public) in names

"""DPCL's figures as a study: what is trained, what is judged, and which verdict follows."""

from dataclasses import replace

import numpy as np
import pytest

from reticent.audit.metrics import over_repeats
from reticent.results.table import VERDICTS
from reticent.studies import Run, dpcl, dpcl_figures, dpcl_training
from reticent.studies.dpcl_figures import SENTENCES, SPECS, Sentence, holds_by
from reticent.studies.dpcl_training import PAPER, Job, paper_spec

SMALL = replace(
    SPECS["digits"],
    training=replace(SPECS["digits"].training, steps=3, marks=(0, 2, 3), batch=16),
    records=100,
    public=20,
    labelled=60,
    queries=40,
    losses=("Barlow Twins",),
)


def test_noise_multipliers_are_those_of_the_noise_scales():
    scales = {setting.name: setting.noise_multipliers for setting in dpcl.SETTINGS}
    for name, loss in PAPER.items():
        assert scales[f"{name}, naive"] == (loss.naive,)
        (improved,) = (
            scale for key, scale in scales.items() if key.startswith(name) and len(scale) > 1
        )
        releases = 1 if name == "SimCLR" else 4
        assert improved == (loss.gradient, *(loss.coupling,) * releases)


def test_the_learning_rate_is_the_papers_on_sums_over_the_batch():
    """DPCLRun divides by |B|·C: times lr·C that is lr on sums over |B|."""
    job = Job(SPECS["mnist"].training, PAPER["Barlow Twins"], 0)
    assert paper_spec("naive", job, 50_000).clip == 50.0
    assert paper_spec("naive", job, 50_000).learning_rate == pytest.approx(5.0)
    assert paper_spec("published", job, 50_000).learning_rate == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("sign", "metric", "values", "verdict"),
    [
        (1, "kNN", (0.1, 0.11, 0.12), "holds"),
        (1, "kNN", (-0.1, -0.11, -0.12), "does not hold"),
        (1, "kNN", (-0.1, 0.1, 0.0), "cannot be told"),
        (-1, "loss", (-1.0, -1.1, -1.2), "holds"),
        (0, "loss", (-1.0, -1.1, -1.2), "does not hold"),
        (0, "loss", (1.0, 1.1, 1.2), "holds"),
        (0, "kNN", (0.1, 0.11, 0.12), "does not hold"),
    ],
)
def test_a_verdict_is_the_side_of_the_interval(sign, metric, values, verdict):
    one = Sentence(
        figure="Fig. 2", said="", loss="SimCLR", metric=metric, ways=("published", None), sign=sign
    )
    assert VERDICTS[holds_by(one, over_repeats(values))] == verdict


def test_every_figure_has_sentences_for_its_loss():
    figures = {(one.figure, one.loss) for one in SENTENCES if one.figure != "–"}
    wanted = {("Fig. 1", "SimCLR"), ("Fig. 2", "SimCLR")}
    assert figures == wanted | {("Fig. 4", "Barlow Twins"), ("Fig. 5", "Barlow Twins")}


def test_images_are_halved_by_their_means_and_parts_share_none():
    spec = replace(SMALL, halved=True, training=replace(SMALL.training, shape="4x4x1"))
    images = dpcl_figures._images(spec, Run())
    whole = dpcl_figures.load("digits").features.reshape(-1, 8, 8)
    blocks = [
        [whole[0, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean() for j in range(4)] for i in range(4)
    ]
    assert images.private.features[0] == pytest.approx(np.ravel(blocks), abs=1e-6)
    sizes = [len(getattr(images, name)) for name in ("private", "public", "labelled", "queries")]
    assert sizes == [100, 20, 60, 40]
    assert images.public.features[0].tolist() != images.private.features[-1].tolist()


def test_one_seed_is_judged_by_its_parts():
    """Paired by part: a difference that every part shows is told, one of mixed signs is not."""
    ends = {"loss": 5.0, "kNN": 0.5, **{f"kNN, part {i}": 0.5 + 0.01 * i for i in range(8)}}
    base = {"loss": 6.0, "kNN": 0.4, **{f"kNN, part {i}": 0.4 + 0.01 * i for i in range(8)}}
    mixed = base | {f"kNN, part {i}": 0.5 + 0.1 * (-1) ** i for i in range(8)}
    found = {("SimCLR", "published"): [[base, ends]], ("SimCLR", "naive"): [[base, mixed]]}
    one, two, loss = (
        Sentence(figure="", said="", loss="SimCLR", metric=metric, ways=ways, sign=1)
        for metric, ways in (
            ("kNN", ("published", None)),
            ("kNN", ("published", "naive")),
            ("loss", ("published", None)),
        )
    )
    apart = dpcl_figures.difference(one, found)
    assert (apart.value, apart.low) == pytest.approx((0.1, 0.1))
    assert holds_by(two, dpcl_figures.difference(two, found)) is None
    assert dpcl_figures.difference(loss, found) is None  # no parts of it


def test_parts_of_a_network_average_to_the_whole():
    images = dpcl_figures._images(SMALL, Run())
    job = Job(SMALL.training, PAPER["SimCLR"], 0)
    network = job.training.network(64, 0)
    figures = dpcl_training.Judge(job, images)(network)
    for metric in ("kNN", "probe"):
        parts = dpcl_training.in_parts(figures, metric)
        assert len(parts) == 8
        assert np.mean(parts) == pytest.approx(figures[metric])
    losses = dpcl_training.in_parts(figures, "loss")
    assert len(losses) == 100 // 16  # as many batches as there are images for
    assert losses[0] == pytest.approx(figures["loss"])
    assert len(set(losses)) == 6


@pytest.mark.slow
def test_four_ways_start_alike_and_are_judged_at_each_mark():
    run = Run()
    along, sentences = dpcl_figures.study(replace(SMALL, seeds=2), run).tables
    assert [row[1] for row in along.rows[::3]] == ["none", "naive", "published", "proven"]
    starts = {row[3:] for row in along.rows if row[2] == "0"}
    assert len(starts) == 1
    assert run.steps.done == run.steps.whole == 4 * 2 * 3
    assert {row[-1] for row in sentences.rows} <= {"holds", "does not hold", "cannot be told"}
    assert all(row[1] == "Barlow Twins" for row in sentences.rows)
    added = [row[2:4] for row in sentences.rows[-4:]]
    assert added[0] == ("none ends above proven", "kNN")
    assert added[-1] == ("proven ends above published", "probe")


@pytest.mark.slow
def test_without_noise_nothing_but_noise_is_left_out():
    """None and naive take the same steps: with the noise of none, naive is none."""
    images = dpcl_figures._images(SMALL, Run())
    job = Job(SMALL.training, PAPER["SimCLR"], 0)
    spec = paper_spec("none", job, 100)
    assert spec == paper_spec("naive", job, 100)
    assert spec.gradient_noise(dpcl_training.NO_NOISE).scale < 1e-6
    end = dpcl_training.trained("none", job, images, lambda: None)[-1]
    assert all(np.isfinite(value) for value in end.values())

"""One draw of a whole job: the verdict counts what it says, and means are those of the draws."""

from reticent.studies.before_after import means, verdict


def interval(low, high):
    return {"value": (low + high) / 2, "low": low, "high": high, "confidence": 0.9875}


def test_the_verdict_counts_intervals():
    cells = [
        {"before": interval(0.51, 0.57), "after": interval(0.49, 0.55)},
        {"before": interval(0.51, 0.57), "after": interval(0.501, 0.55)},
        {"before": interval(0.49, 0.55), "after": interval(0.43, 0.49)},
    ]
    said = verdict(cells)
    assert "excludes 0.5 in 2 of 3 draws; after it, it includes 0.5 in 1 of 3" in said
    assert "±0.0300 at 98.75% confidence" in said


def test_means_are_those_of_the_draws():
    cells = [
        {"before": interval(0.5, 0.7), "after": interval(0.5, 0.5), "losses": [0.1, 0.0]},
        {"before": interval(0.6, 0.8), "after": interval(0.5, 0.5), "losses": [0.3, 0.2]},
    ]
    said = means(cells, (1.0, 2.0), "digits")
    assert "AUC 0.650 [" in said
    assert "utility loss 0.200 [" in said
    assert "at ε = 1, 0.100 [" in said

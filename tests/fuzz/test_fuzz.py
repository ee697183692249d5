"""20,000 mutated files through all readers; ``make bench`` takes 100,000 of another seed."""

import shutil
import sys

import pytest

from tests.fuzz.campaign import MOST_BYTES, MOST_SECONDS, Outcome, _judge, campaign
from tests.fuzz.samples import Reader, readers

COUNT, SEEDS = 10_000, (18, 19)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_files_are_read_or_refused_in_one_line(seed):
    """A minute of CPU; file i is a function of seed and i alone: ``--only i`` runs it again."""
    outcome = campaign(COUNT, seed)
    sys.stdout.write(f"seed {seed}: {outcome}\n")  # shown where the test fails
    assert outcome["wrong"] == []
    assert outcome["files"] == outcome["read"] + outcome["refused"] == COUNT
    assert outcome["peak_bytes"] < MOST_BYTES
    assert outcome["slowest"] < MOST_SECONDS
    assert set(outcome["by_reader"]) == {reader.name for reader in readers()}
    assert all(sum(tally) >= 5 for tally in outcome["by_reader"].values())


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda _: {}["absent"], "KeyError"),
        (lambda _: [0] * 10**12, "MemoryError"),
        (lambda _: (_ for _ in ()).throw(RecursionError("deep")), "RecursionError"),
    ],
)
def test_the_campaign_sees_what_is_no_refusal(tmp_path, read, found):
    outcome = Outcome()
    broken = Reader(name="broken", write=shutil.rmtree, read=read, changed={})
    _judge(outcome, broken, tmp_path, "0 (broken)")
    (line,) = outcome.wrong
    assert line.startswith(f"0 (broken): {found}")

"""How long it takes to find the noise of 10,000 sampled steps, and how good it is."""

import math
import subprocess
import sys
import time

from dp_accounting.pld import privacy_loss_distribution
from scipy import optimize

from benchmarks.harness import Cell, Result, best_of
from reticent.accounting import calibrate_noise
from reticent.guarantee import Event, GaussianEvent, PoissonSampled, Repeated

NAME = "calibration"
TITLE = "Noise multiplier for 10,000 Poisson-sampled Gaussian steps (rate 0.01, δ = 1e-5)"

STEPS, RATE, DELTA = 10_000, 0.01, 1e-5
INTERVALS = {0.1: 5e-6, 1.0: 2e-5, 10.0: 2e-4, 100.0: 5e-4, 1000.0: 1e-3}
"""The target ε and the interval of the reference's grid."""
SECONDS, GIBIBYTES = 150, 12

OPACUS = """
import resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) << 30,) * 2)
warnings.simplefilter("ignore")
import time
from opacus.accountants.utils import get_noise_multiplier
start = time.perf_counter()
noise = get_noise_multiplier(
    target_epsilon=float(sys.argv[1]), target_delta={delta}, sample_rate={rate}, steps={steps},
    accountant="prv",
)
print(noise, time.perf_counter() - start)
"""


def run(quick: bool) -> Result:
    targets = [10.0] if quick else list(INTERVALS)
    return Result(
        columns=[
            "ε",
            "seconds",
            "σ",
            "σ by dp-accounting, fine grid",
            "σ / that",
            "Opacus PRV σ",
            "Opacus PRV seconds",
            "Opacus / ours",
        ],
        rows=[_row(target, repeats=1 if quick else 5) for target in targets],
        note=f"Opacus runs with a limit of {SECONDS} s and {GIBIBYTES} GiB. The reference is the "
        "smallest σ that dp-accounting's pessimistic grid accepts, by root finding.",
    )


def _row(target: float, repeats: int) -> list[Cell]:
    def calibrate() -> float:
        found = calibrate_noise(_steps, epsilon=target, delta=DELTA, relation="add-remove")
        return found.noise_multiplier

    seconds = best_of(calibrate, repeats).median
    noise = calibrate()
    reference = _reference(target, noise)
    theirs, their_seconds = _opacus(target)
    speed = their_seconds / seconds if isinstance(their_seconds, float) else "–"
    return [target, seconds, noise, reference, noise / reference, theirs, their_seconds, speed]


def _steps(noise: float) -> Event:
    return Repeated(
        event=PoissonSampled(event=GaussianEvent(noise_multiplier=noise), rate=RATE), count=STEPS
    )


def _reference(target: float, near: float) -> float:
    def excess(noise: float) -> float:
        pld = privacy_loss_distribution.from_gaussian_mechanism(
            noise, sampling_prob=RATE, value_discretization_interval=INTERVALS[target]
        )
        # Its ε at a δ is no tighter than Pr[loss > ε] beyond ε = 745, where e^{−ε} underflows.
        return math.log(pld.self_compose(STEPS).get_delta_for_epsilon(target) / DELTA)

    return float(optimize.brentq(excess, 0.97 * near, 1.03 * near, rtol=1e-6))


def _opacus(target: float) -> tuple[Cell, Cell]:
    """Noise and seconds, or what stopped it."""
    script = OPACUS.format(delta=DELTA, rate=RATE, steps=STEPS)
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, str(target), str(GIBIBYTES)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "–", f"time limit ({time.perf_counter() - start:.0f} s)"
    if done.returncode != 0:
        error = done.stderr.strip().splitlines()[-1].partition(":")[0]
        return "–", "MemoryError" if error.endswith("MemoryError") else error
    noise, seconds = done.stdout.split()
    return float(noise), float(seconds)

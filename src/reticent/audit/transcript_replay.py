"""One fit as a transcript of its noisy queries, and its answers replayed in the other world."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from reticent.arrays import Array, Floats, Integers
from reticent.audit.same_places import SamePlaces, row_keys
from reticent.guarantee import Relation
from reticent.mechanisms import AdditiveMechanism, Gaussian
from reticent.protect import noise_scales, noisy_query
from reticent.protect.recipe import Replay
from reticent.randomness import secret_sample
from reticent.validation import InputError


class NoisyQuery(NamedTuple):
    """One sum over the records, the noise it is due, and what was answered."""

    noise: AdditiveMechanism
    value: Floats
    answer: Floats
    rate: float = 1.0
    """Of the sample that the sum was over."""
    sample: int = 0
    """The number of that sample: queries of one number saw the same records."""


class Transcript(NamedTuple):
    """The noisy queries of one fit in order, and the model that came of the answers."""

    queries: list[NoisyQuery]
    model: Floats


class Shifts(NamedTuple):
    """How far sums of one noise are from those of the other world, a number each."""

    noise: AdditiveMechanism
    norms: dict[str, Floats]
    """As the noise measures them."""
    rate: float = 1.0
    samples: tuple[int, ...] = ()
    """The sample of each, where they are of samples."""

    @property
    def distances(self) -> Floats:
        """In the norm that the noise is calibrated to."""
        return self.norms[self.noise.norm]

    @property
    def spent(self) -> float:
        """Σ(distance/scale)² for Gaussian noise, else Σ distance/scale; of samples, by their rate.

        A record that is there with probability q moves the mean of a sum by q times its distance.
        """
        shifts = self.rate * self.distances / self.noise.scale
        return float((shifts**2).sum() if isinstance(self.noise, Gaussian) else shifts.sum())

    @property
    def tightness(self) -> float:
        """The largest share of the claimed sensitivity."""
        return float(self.distances.max()) / self.noise.bound

    def noises(self) -> Iterator[tuple[AdditiveMechanism, int]]:
        """The same noise on sums that a record moves so far, each with its sample."""
        samples = self.samples or tuple(range(len(self.distances)))
        for place in np.flatnonzero(self.distances > 0):
            norms = {name: float(lengths[place]) for name, lengths in self.norms.items()}
            yield self.noise.at_distance(**norms), samples[place]


class PairedRun(NamedTuple):
    """What one run told: Λ, how far the worlds were apart on the way, whether models agree."""

    ratio: float
    """The log density of the answers in the other world over that in their own."""
    shifts: list[Shifts]
    sealed: bool

    @property
    def spent(self) -> float:
        """What all noisy queries of the run spent together."""
        return sum(part.spent for part in self.shifts)

    def epsilon(self, relation: Relation, delta: float) -> float:
        """The ε at δ of noisy sums at these distances; rounded up."""
        noisy_sums = [(one, part.rate, at) for part in self.shifts for one, at in part.noises()]
        if not noisy_sums:
            return 0.0
        noises, rates, samples = map(list, zip(*noisy_sums, strict=True))
        return noise_scales.composed_epsilon_of(
            noises, relation=relation, delta=delta, rates=rates, samples=samples
        )


def transcript(recipe: Replay, answer: noisy_query.NoiseFunction) -> Transcript:
    """Every noisy query of one fit, each answered by ``answer``."""
    queries: list[NoisyQuery] = []

    def recorded(noise: AdditiveMechanism, value: Floats) -> Floats:
        exact, given = noisy_query.settled(value, answer(noise, value))
        drawn = np.array(exact).ravel(), np.array(given).ravel()
        queries.append(
            NoisyQuery(noise, *drawn, noisy_query.sampling_rate(), noisy_query.sample_number())
        )
        return given

    model = recipe(recorded)
    return Transcript(queries, model)


def replayed(recipe: Replay, answers: Sequence[NoisyQuery]) -> Transcript:
    """The queries of a fit that gets the answers of another one."""
    left = iter(answers)

    def again(noise: AdditiveMechanism, value: Floats) -> Floats:
        drawn = next(left, None)
        if drawn is None or drawn.noise != noise or drawn.answer.size != value.size:
            raise InputError(_OTHER_SUMS)
        return drawn.answer.reshape(np.shape(value)).copy().view(noisy_query.Replayed)

    queries = transcript(recipe, again)
    if next(left, None) is not None:
        raise InputError(_OTHER_SUMS)
    return queries


_OTHER_SUMS: Final = (
    "sums must be as many, as large and as noisy in both worlds after the same answers, got others:"
    " which sums there are is public"
)


def run_pair(
    own: Replay,
    other: Replay,
    draw: noisy_query.NoiseFunction,
    own_rows: frozenset[bytes] = frozenset(),
) -> PairedRun:
    """One run: a transcript drawn in its own world, and the other world's sums beside it.

    Of queries over samples, the record in which the worlds differ takes part by a coin where the
    answers are drawn, and for certain where sums are compared; all others do for certain.
    """
    places_of = SamePlaces()
    with noisy_query.with_sampler(_with_coins_for(own_rows, places_of)):
        drawn = transcript(own, draw)
    with noisy_query.with_sampler(places_of.second):
        beside = replayed(other, drawn.queries)
        is_sampled = any(query.rate < 1 for query in drawn.queries)
        whole = replayed(own, drawn.queries) if is_sampled else drawn
    losses, shifts = np.zeros(len(drawn.queries)), []
    for places in _of_one_noise(drawn.queries):
        noise, rate = drawn.queries[places[0]].noise, drawn.queries[places[0]].rate
        here = np.stack([whole.queries[place].value for place in places])
        there = np.stack([beside.queries[place].value for place in places])
        answers = np.stack([drawn.queries[place].answer for place in places])
        losses[places] = noise.log_ratio(answers - here, answers - there)
        samples = tuple(drawn.queries[place].sample for place in places) if rate < 1 else ()
        shifts.append(Shifts(noise, noise.norms(there - here), rate, samples))
    ratio = _ratio(losses, drawn.queries, bool(own_rows))
    return PairedRun(ratio, shifts, sealed=drawn.model.tobytes() == beside.model.tobytes())


def _with_coins_for(own_rows: frozenset[bytes], places_of: SamePlaces) -> noisy_query.Sampler:
    """Rows that only this world has take part by a coin, all others for certain.

    Of all places in a fresh order all take part.
    """

    def sampler(rows: Floats, labels: Array, rate: float) -> Integers:
        if isinstance(rate, noisy_query.FixedSize):
            if rate.size == rate.population:
                return places_of.first(rows, labels, rate)
            raise InputError(
                "batch must be all records where an audit draws answers of samples of one size, got"
                f" {rate.size} of {rate.population}"
            )
        coins = secret_sample(len(rows), rate) if own_rows else np.arange(len(rows))
        taken = set(coins.tolist())
        keys = row_keys(rows, labels)
        return np.asarray(
            [place for place, key in enumerate(keys) if key not in own_rows or place in taken],
            dtype=np.int64,
        )

    return sampler


def _ratio(losses: Floats, queries: list[NoisyQuery], is_own: bool) -> float:
    """Λ of a transcript: the losses of queries on one sample add up before they are amplified."""
    total = sum(losses[place] for place, one in enumerate(queries) if one.rate == 1)
    by_sample: dict[tuple[int, float], list[float]] = {}
    for loss, query in zip(losses.tolist(), queries, strict=True):
        if query.rate < 1:
            by_sample.setdefault((query.sample, query.rate), []).append(loss)
    for (_, rate), of_sample in by_sample.items():
        total += float(_sampled_losses(np.array([sum(of_sample)]), rate, is_own)[0])
    return float(total)


def _sampled_losses(losses: Floats, rate: float, is_own: bool) -> Floats:
    """ln of the other world's density over the own, of samples that see a record at this rate.

    ``losses`` are those of samples that see it for certain: ln((1 − q) + q·e^ℓ) of the world with
    the record over the world without.
    """
    with_record = -losses if is_own else losses
    amplified: Floats = np.logaddexp(np.log1p(-rate), np.log(rate) + with_record)
    return -amplified if is_own else amplified


def _of_one_noise(queries: list[NoisyQuery]) -> list[list[int]]:
    """A hundred gradients share noise and size: the density of a hundred rows is soon computed."""
    places: dict[tuple[int, int], list[int]] = {}
    for place, query in enumerate(queries):
        places.setdefault((id(query.noise), query.value.size), []).append(place)
    return list(places.values())

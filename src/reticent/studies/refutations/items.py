"""What can be refuted, by name. Audits load with their first use."""

from reticent.results.table import Table


def lu_neuron() -> Table:
    """Lu et al., Algorithm 1: noise on one output neuron, the whole softmax released."""
    from reticent.studies.refutations import lu_neuron as study

    return study.refutation()


def algorithm_2() -> Table:
    """ALM, Algorithm 2: a sensitivity sampled from data with one outlier."""
    from reticent.studies.refutations import algorithm_2 as study

    return study.refutation()


def naive_floats() -> Table:
    """Textbook noise in float64: which floats come out tells the answer."""
    from reticent.studies.refutations import naive_floats as study

    return study.refutation()


def half_noise() -> Table:
    """Code that adds half the noise of its certificate."""
    from reticent.studies.refutations import half_noise as study

    return study.refutation()


def zero_sum_floats() -> Table:
    """Zero-sum noise on all weights of a head, in floats: exact column sums leak."""
    from reticent.studies.refutations import zero_sum_floats as study

    return study.refutation()


def dpcl_4c() -> Table:
    """DPCL: gradient sensitivity 4C given noisy similarities."""
    from reticent.studies.refutations import dpcl_4c as study

    return study.refutation()


ITEMS = {
    "lu-neuron": lu_neuron,
    "algorithm-2": algorithm_2,
    "naive-floats": naive_floats,
    "half-noise": half_noise,
    "zero-sum-floats": zero_sum_floats,
    "dpcl-4c": dpcl_4c,
}

"""Papers: a frozen specification in, rows with the published value beside ours out.

A study holds no algorithm; everything it calls lives below. Exact items take seconds and no data;
trained ones fit models, some on data from a folder. A study of the package takes one entry of
``_PAPERS``; ``reticent reproduce`` lists the first line of its function's docstring.
"""

from collections.abc import Callable, Mapping

from reticent.registry import Registry
from reticent.results.table import Table
from reticent.studies.trained import (
    Cells,
    Outcome,
    Run,
    Steps,
    Trained,
    exact_in,
    record,
    trained_in,
)
from reticent.validation import InputError

Exact = Callable[[], Table]
Study = Exact | Trained
"""What an item of a paper is: computed, or trained on data."""
_FOLDER = ("cifar10", "mnist", "adult", "location", "hospital100", "trec")
_GRID = (*_FOLDER, "shoppers")
_PURE = ("cifar10", "mnist", "scattering", "adult")
_SHOPPERS = tuple(f"shoppers{classes}" for classes in (2, 10, 20, 50, 100))
_SLIDES = ("location", "mnist", "adult", "hospital100", *_SHOPPERS)
_LU = ("all", "mnist", "cifar10", "cifar100", "hospital100", *_SHOPPERS)
_DP_SGD = ("location", "adult", *_LU[1:], "digits")
_IMAGES = ("cifar10", "cifar10-simclr", "cifar100", "stl10")
_ATTACKED = ("cifar10", "cifar10-simclr-10k", "cifar100", "stl10")
_GRADED = ("hospital100", *_ATTACKED)
_PLACES = ("adult", "adult-log", "mnist", "cifar10")
_PRETRAINING = (
    *("mnist", "mnist-standardised", "mnist-fixed-head", "mnist-masked", "mnist-masked-rate"),
    *("mnist-split", "cifar10"),
)
_NETWORKS = ("mnist", "mnist-scattering", "cifar10-grey-scattering", "location", "trec")
_FORMULAS = ("table6", "fig2", "bounds", "splits", "queries")
_REFUTATIONS = (
    "lu-neuron",
    "algorithm-2",
    "naive-floats",
    "half-noise",
    "zero-sum-floats",
    "dpcl-4c",
    "one-sided-wishart",
)


_PAPERS: Mapping[str, Mapping[str, Study]] = {
    "alm": {
        "noise": exact_in("alm_table1", "noise"),
        "sampler": exact_in("alm_table1", "sampler"),
        "fig1": trained_in("alm_fig1", ("digits", *_IMAGES), _IMAGES),
        "fig2": trained_in("alm_fig2", ("mnist5k", "digits", *_ATTACKED), _ATTACKED),
        "grades": trained_in("alm_grades", ("digits", *_GRADED), _GRADED),
        "mnist": trained_in("alm_mnist", ("mnist", "mnist5k"), ("mnist",)),
        "table1": trained_in("alm_table1", (*_IMAGES, "digits"), _IMAGES),
        "layers": trained_in("alm_layers", ("digits", "mnist5k")),
        "attack": trained_in("alm_attack", ("mnist5k", "digits")),
    },
    "dpcl": {
        "noise-scales": exact_in("dpcl", "noise_scales"),
        "figures": trained_in(
            "dpcl_figures",
            ("mnist", "cifar10", "digits"),
            ("mnist", "cifar10"),
            has_figures=True,
        ),
    },
    "lu": {
        **{name: exact_in("lu.formulas", name) for name in _FORMULAS},
        "verdicts": exact_in("lu.verdicts", "verdicts"),
        "accountants": exact_in("dp_sgd", "accountants"),
        "oaro": trained_in("lu.oaro", ("digits",)),
        "findings": trained_in("lu.findings", ("all", "digits", *_LU[1:]), _LU),
        "dp-sgd": trained_in("lu.dp_sgd", _DP_SGD, _DP_SGD[:-1]),
        "alpha": trained_in("lu.alpha", ("location", "digits"), ("location",)),
        "leakage": trained_in("lu.leakage", ("location", "digits"), ("location",)),
    },
    "slides": {
        "smokers": exact_in("slides_table", "smokers"),
        "table": trained_in("slides_table", (*_SLIDES, "digits"), _SLIDES),
    },
    "refutations": {
        name: exact_in(f"refutations.{name.replace('-', '_')}", "refutation")
        for name in _REFUTATIONS
    },
    "beyond": {
        "logistic-noise": exact_in("dp_sgd", "logistic_noise"),
        "answers": trained_in("answers", ("digits",)),
        "audits": trained_in("audits", ("digits", "network", "pure", "places", "zero-delta")),
        "end-to-end": trained_in("end_to_end", ("built", "network", "schema")),
        "demonstration": trained_in("demonstration", ("mnist-test",), ("mnist-test",)),
        "plan-grid": trained_in("plan_fit", ("digits", *_GRID), _GRID),
        "plan-uneven": trained_in("plan_uneven", ("all", "digits"), ("all",)),
        "private-networks": trained_in(
            "private_networks",
            (*_NETWORKS, "digits"),
            _NETWORKS,
        ),
        "encoder-membership": trained_in(
            "encoder_membership", ("mnist5k", "cifar10", "digits"), ("cifar10",)
        ),
        "attribute-inference": trained_in("attribute_inference", ("digits", "mnist5k")),
        "pretraining": trained_in("pretraining", (*_PRETRAINING, "digits"), _PRETRAINING),
        "pretraining-rates": trained_in("pretraining_rates", ("digits",)),
        "fine-tuning": trained_in("fine_tuning", ("trec",), ("trec",)),
        "texts": trained_in("texts", ("trec", "sst2"), ("trec", "sst2")),
        "warm-start": trained_in("warm_start", ("trec", "sst2"), ("trec", "sst2")),
        "schema": trained_in("raw_tables", ("adult",), ("adult",)),
        "task-plan": trained_in("task_plan_fit", ("tables", "iris")),
        "tasks": trained_in("task_tables", ("tables", "adult"), ("adult",)),
        "scattering": trained_in("scattering", ("mnist", "cifar10", "digits"), _FOLDER[:2]),
        "pure": trained_in("pure", ("digits", *_PURE), _PURE),
        "pure-grid": trained_in("pure_grid", ("digits", "mnist5k-coarse", *_GRID), _GRID),
        "scattering-step": trained_in(
            "scattering_step", ("cifar10-grey", "digits"), ("cifar10-grey",)
        ),
        "places": trained_in("places", ("digits", *_PLACES), _PLACES),
        "smoothing": trained_in("smoothing", ("mnist5k", "mnist", "digits"), ("mnist",)),
        "prototypes": trained_in(
            "prototypes", (*_FOLDER[:2], "trec", "digits"), (*_FOLDER[:2], "trec")
        ),
        "closed-form": trained_in(
            "closed_form",
            ("cifar10", "cifar10-patches", "digits"),
            ("cifar10", "cifar10-patches"),
        ),
        "learners": trained_in("learners", ("digits", "mnist5k", *_FOLDER), _FOLDER),
    },
}
STUDIES: Registry[Study] = Registry(
    "study",
    {f"{paper} {item}": study for paper, items in _PAPERS.items() for item, study in items.items()},
    entry_group="reticent.studies",
)
"""By the words after ``reticent reproduce``, paper and item; plug-ins too."""

__all__ = [
    "STUDIES",
    "Cells",
    "Outcome",
    "Run",
    "Steps",
    "Study",
    "Table",
    "Trained",
    "exact_items",
    "items",
    "papers",
    "record",
    "study",
    "trained",
]


def papers() -> list[str]:
    """All papers, and what none of them has."""
    return list(dict.fromkeys(name.partition(" ")[0] for name in STUDIES))


def items(paper: str) -> list[str]:
    """The items of a paper, the exact ones first."""
    if paper not in papers():
        raise InputError(f"paper must be one of {', '.join(papers())}, got {paper!r}")
    own = [name.partition(" ")[2] for name in STUDIES if name.startswith(f"{paper} ")]
    return sorted(own, key=lambda item: isinstance(STUDIES[f"{paper} {item}"], Trained))


def exact_items(paper: str) -> list[str]:
    """Those that need no training."""
    return [item for item in items(paper) if trained(paper, item) is None]


def study(paper: str, item: str) -> Table:
    """One exact item of one paper."""
    named = _named(paper, item)
    if isinstance(named, Trained):
        raise InputError(f"item {item} of {paper} must be run with trained, got study")
    return named()


def trained(paper: str, item: str) -> Trained | None:
    """An item that trains, to be run; None for an exact one."""
    named = _named(paper, item)
    return named if isinstance(named, Trained) else None


def _named(paper: str, item: str) -> Study:
    names = items(paper)
    if item not in names:
        raise InputError(f"item of {paper} must be one of {', '.join(names)}, got {item!r}")
    return STUDIES[f"{paper} {item}"]

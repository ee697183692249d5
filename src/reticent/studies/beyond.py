"""What none of the papers has."""

from reticent.studies.trained import Outcome, Run, Trained

_IN_FOLDER = ("cifar10", "mnist", "adult", "location", "hospital100", "trec")


def learners(on: str, run: Run) -> Outcome:
    """Learners with the noise inside beside noise on the optimum, proven."""
    from reticent.studies import learners as study

    return study.study(study.SPECS[on], run)


def plan_grid(on: str, run: Run) -> Outcome:
    """Every learner on a grid of records × ε: what `plan` is fitted to."""
    from reticent.studies import plan_grid as study

    return study.study(study.SPECS[on], run)


def audits(on: str, run: Run) -> Outcome:
    """Every proven release audited over and over, and the same with too little noise."""
    from reticent.studies import audits as study

    return study.study(study.SPECS[on], run)


def end_to_end(on: str, run: Run) -> Outcome:
    """Neighbouring files through every command and function that prints proven."""
    from reticent.studies import end_to_end as study

    return study.study(study.SPECS[on], run)


def answers(on: str, run: Run) -> Outcome:
    """Weights once or an answer for each query: what `plan --queries` says, measured."""
    from reticent.studies import answers as study

    return study.study(study.SPECS[on], run)


def demonstration(on: str, run: Run) -> Outcome:
    """How `reticent demo` ends on images that its settings were not tried on."""
    from reticent.studies import demonstration as study

    return study.study(study.SPECS[on], run)


TRAINED = {
    "answers": Trained(run=answers, on=("digits",)),
    "audits": Trained(run=audits, on=("digits",)),
    "end-to-end": Trained(run=end_to_end, on=("built",)),
    "demonstration": Trained(
        run=demonstration, on=("mnist-test",), in_folder=frozenset(("mnist-test",))
    ),
    "plan-grid": Trained(
        run=plan_grid,
        on=("digits", *_IN_FOLDER, "shoppers"),
        in_folder=frozenset((*_IN_FOLDER, "shoppers")),
    ),
    "learners": Trained(
        run=learners, on=("digits", "mnist5k", *_IN_FOLDER), in_folder=frozenset(_IN_FOLDER)
    ),
}

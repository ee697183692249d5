"""Releases by the command line, run in this process as it is installed, and by the whole job."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.audit.end_to_end import head_starts
from reticent.audit.end_to_end.adversarial import TEXT
from reticent.audit.end_to_end.releases import Audited, published, table_of
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.data import Dataset, dataset
from reticent.files import partial_folder
from reticent.protect import load
from reticent.protect.registry import RECIPES, classifiers
from reticent.run import end_to_end_calls as calls
from reticent.run import end_to_end_encoders, end_to_end_heads, end_to_end_served, job, releases
from reticent.run.end_to_end_heads import TRAINED_ON, public_test_file, public_test_rows
from reticent.run.spec import RunData, RunSpec
from reticent.run.tasks.models import drawing

_OTHER_LABELS: Final[dict[dataset.LabelTask, str]] = {
    "regression": "adassp-regression",
    "multilabel": "weights",
}


def _protect(learner: str) -> Callable[[Settings], Release]:
    def build(settings: Settings) -> Release:
        def release(path: Path) -> Published:
            covered = settings.covered_by(learner)
            if "epochs" in RECIPES[learner].options:  # the steps of a training grow with N
                covered = dataclasses.replace(covered, records=min(covered.records, TRAINED_ON))
            spoken = ["protect", *calls.table_words(covered, path), "--learner", learner]
            spoken += ["--delta", str(covered.delta)] if covered.delta else ["--pure"]
            spoken += ["--mechanism", covered.mechanism]
            taken = RECIPES[learner].options
            option_values = {
                "bound": settings.bound,
                "penalty": settings.penalty,
                "norms": settings.norms,
                "longest-step": settings.ends.get("longest_step"),
            }
            for name, value in option_values.items():
                is_said = name.replace("-", "_") in taken and value is not None
                spoken += [f"--{name}", str(value)] if is_said else []
            if settings.centred and "mean_bound" in taken:
                spoken += ["--centre", "mean", "--mean-bound", str(settings.mean_bound)]
            return calls.protect_command(spoken)

        return release

    return build


def _protect_raw(learner: str) -> Callable[[Settings], Release]:
    """``protect --schema`` on a raw table."""

    def build(settings: Settings) -> Release:
        def release(path: Path) -> Published:
            assert settings.schema is not None
            with partial_folder("reticent-") as folder:
                facts = Path(folder) / "schema.json"
                facts.write_text(json.dumps(settings.schema.to_dict()), encoding="utf-8")
                spoken = ["protect", "--private", str(path), "--schema", str(facts)]
                spoken += ["--learner", learner, "--mechanism", settings.mechanism]
                spoken += ["--epsilon", str(settings.epsilon), "--relation", settings.relation]
                spoken += ["--delta", str(settings.delta)] if settings.delta else ["--pure"]
                spoken += ["--records", str(settings.records)]
                if settings.shape.persons:
                    spoken += ["--max-records-per-person", str(settings.max_records_per_person)]
                return calls.protect_command(spoken)

        return release

    return build


def _train_from_a_head(settings: Settings) -> Release:
    """``train --head-share``; it protects single records, whoever owns them."""
    settings = head_starts.covered(settings).without_persons

    def release(path: Path) -> Published:
        share = ["--head-share", str(head_starts.head_share(settings))]
        return calls.protect_command([*_train(settings, path), *share])

    return release


def _train_from_a_released_head(settings: Settings) -> Release:
    """``train --start``, with the line that says what both promise together."""
    settings = head_starts.covered(settings).without_persons

    def release(path: Path) -> Published:
        data = head_starts.read_texts(path, settings)
        with (
            head_starts.saved_head(settings, data, path) as (head, place),
            partial_folder("reticent-") as folder,
        ):
            out = Path(folder) / "out"
            start = ["--start", str(place), "--start-people", "same", "--out", str(out)]
            printed = calls.command([*_train(settings, path), *start]).replace(str(out), "OUT")
            return head_starts.both_published(head, load(out), printed.encode())

    return release


def _train(settings: Settings, path: Path) -> list[str]:
    options: dict[str, Any] = {
        "--text": TEXT,
        "--model": head_starts.architecture_of(settings),
        "--shape": settings.shape.width,
        "--mechanism": settings.mechanism,
        "--delta": settings.delta,
        "--batch": settings.options("network")["batch"],
        **{f"--{name}": value for name, value in head_starts.SHORT.items()},
    }
    return ["train", *calls.table_words(settings, path), *calls.as_words(options)]


def _whole_job(settings: Settings) -> Release:
    """The release that ``reticent run`` and ``reticent.run.run`` hand over, without the attacks."""

    def release(path: Path) -> Published:
        roles = RunData.of(
            table_of(path, settings),
            _public_test(settings),
            max_records_per_person=settings.max_records_per_person,
        )
        data, spec = job.capped_run(
            roles,
            RunSpec(
                epsilon=settings.epsilon,
                delta=settings.delta,
                relation=settings.relation,
                records=settings.records,
                bound=settings.bound,
                norms=settings.norms,
                max_records_per_person=settings.max_records_per_person,
            ),
        )
        return published(releases.recommended_kind(data, spec).draw())

    return release


def _task_draw(learner: str) -> Callable[[Settings], Release]:
    """The release of a number, or of several labels, that ``run`` hands over."""

    def build(settings: Settings) -> Release:
        def release(path: Path) -> Published:
            return published(drawing(table_of(path, settings), settings.request(learner))())

        return release

    return build


def _public_test(settings: Settings) -> Dataset:
    rows, labels = public_test_rows(settings.shape)
    classes = settings.shape.classes
    return Dataset(
        name="test",
        source="made for the audit",
        inputs=rows,
        labels=np.array([classes.index(label) for label in labels]),
        classes=classes,
    )


def _run_command(settings: Settings) -> Release:
    """The command ``run`` itself, attacks and page included, as small as it can be asked for."""

    def release(path: Path) -> Published:
        with partial_folder("reticent-") as folder:
            test = public_test_file(settings.shape, Path(folder))
            out = Path(folder) / "out"
            spoken = ["run", *calls.table_words(settings, path), "--test", str(test)]
            spoken += ["--delta", str(settings.delta)] if settings.delta else ["--pure"]
            spoken += ["--bound", str(settings.bound), "--norms", settings.norms, "--jobs", "1"]
            spoken += ["--draws", "2", "--shadows", "10", "--epsilons", str(settings.epsilon)]
            calls.command([*spoken, "--out", str(out)])
            written = calls.written(out / "released", "")
        # The job draws many releases, each a release by itself: ε covers one of them.
        return written._replace(claims=(Covered(written.claims[0].guarantee, ()),))

    return release


def commands() -> dict[str, Audited]:
    """The whole job, ``protect`` by every recipe that is registered now, ``train`` from a head."""
    return {
        "train from a head (command)": head_starts.of_texts(_train_from_a_head),
        "train from a released head (command)": head_starts.of_texts(_train_from_a_released_head),
        "run": Audited(build=_whole_job, fewest=2),
        **{f"protect {name} (command)": Audited(build=_protect(name)) for name in classifiers()},
        "protect, schema (command)": Audited(build=_protect_raw("lda"), raw=True, embedded=False),
        **{
            f"protect, schema, {task} (command)": Audited(
                build=_protect_raw(learner), raw=True, embedded=False, labels=task
            )
            for task, learner in _OTHER_LABELS.items()
        },
        **{
            f"run, schema, {task}": Audited(
                build=_task_draw(learner), raw=True, embedded=False, labels=task
            )
            for task, learner in _OTHER_LABELS.items()
        },
        **end_to_end_heads.COMMANDS,
        **end_to_end_served.COMMANDS,
        **end_to_end_encoders.commands(),
    }


RUN_COMMAND: Final = {"run (command)": Audited(build=_run_command, embedded=False, tame=True)}

"""Releases by the command line, run in this process as it is installed, and by the whole job."""

import contextlib
import dataclasses
import io
import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.audit.end_to_end import head_starts
from reticent.audit.end_to_end.adversarial import LABEL, PERSON, TEXT, Shape
from reticent.audit.end_to_end.releases import Audited, published, table_of
from reticent.audit.end_to_end.replay import Covered, Published, Release
from reticent.audit.end_to_end.settings import Settings
from reticent.audit.end_to_end.table import Table, Writing
from reticent.data import Dataset, dataset
from reticent.files import partial_folder
from reticent.guarantee import Guarantee
from reticent.protect import load
from reticent.protect.registry import RECIPES, classifiers
from reticent.run import job, releases
from reticent.run.spec import RunData, RunSpec
from reticent.run.tasks.models import drawing
from reticent.validation import InputError

_TEST_RECORDS: Final = 18
_TRAINED_ON: Final = 2_000
"""The largest N of a training."""
_OTHER_LABELS: Final[dict[dataset.LabelTask, str]] = {
    "regression": "adassp-regression",
    "multilabel": "weights",
}


@cache
def _main() -> Callable[[list[str]], None]:
    """The command ``reticent`` that the package installs."""
    (script,) = entry_points(group="console_scripts", name="reticent")
    main: Callable[[list[str]], None] = script.load()
    return main


def command(arguments: list[str]) -> str:
    """What the command prints; one that is refused (exit code 2) raises its line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            _main()(arguments)
        except SystemExit as end:
            code = end.code
    if code == 2:
        raise InputError(err.getvalue().strip())
    if code not in (0, 1):  # 1: the whole job found that a claim is refuted
        raise RuntimeError(f"the command ended with {code}: {err.getvalue().strip()}")
    return out.getvalue()


def _spoken(settings: Settings, path: Path) -> list[str]:
    """The options that ``protect`` and ``run`` share."""
    said: dict[str, Any] = {
        "--private": path,
        "--label": LABEL,
        "--classes": ",".join(settings.shape.classes),
        "--epsilon": settings.epsilon,
        "--relation": settings.relation,
        "--records": settings.records,
    }
    if settings.shape.persons:
        said |= {"--person": PERSON, "--max-records-per-person": settings.max_records_per_person}
    if settings.shape.embedded:
        said |= {"--embedding": settings.shape.features[0]}
    return [text for option, value in said.items() for text in (option, str(value))]


def _protect(learner: str) -> Callable[[Settings], Release]:
    def build(settings: Settings) -> Release:
        def release(path: Path) -> Published:
            covered = settings.covered_by(learner)
            if "epochs" in RECIPES[learner].options:  # the steps of a training grow with N
                covered = dataclasses.replace(covered, records=min(covered.records, _TRAINED_ON))
            spoken = ["protect", *_spoken(covered, path), "--mechanism", covered.mechanism]
            spoken += ["--delta", str(covered.delta)] if covered.delta else ["--pure"]
            spoken += ["--learner", learner]
            taken = RECIPES[learner].options
            said = {"bound": settings.bound, "penalty": settings.penalty, "norms": settings.norms}
            for name, value in said.items():
                spoken += [f"--{name}", str(value)] if name in taken else []
            if settings.centred and "mean_bound" in taken:
                spoken += ["--centre", "mean"]
            return protect_command(spoken)

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
                return protect_command(spoken)

        return release

    return build


def protect_command(arguments: list[str]) -> Published:
    """The command ``protect`` with these arguments: what it writes and prints."""
    with partial_folder("reticent-") as folder:
        out = Path(folder) / "out"
        printed = command([*arguments, "--out", str(out)])
        return _written(out, printed.replace(str(out), "OUT"))


def _written(out: Path, printed: str) -> Published:
    """The claim of the certificate, and all bytes of both files and of the printed lines."""
    files = [out.with_suffix(".safetensors"), out.with_suffix(".json")]
    claim = Guarantee.from_dict(json.loads(files[1].read_text(encoding="utf-8"))["guarantee"])
    content = b"".join(file.read_bytes() for file in files) + printed.encode()
    return Published(claims=(Covered(claim),), outputs=content)


def _train_from_a_head(settings: Settings) -> Release:
    """``train --head-share``; it protects single records, whoever owns them."""
    settings = _without_persons(head_starts.covered(settings))

    def release(path: Path) -> Published:
        share = ["--head-share", str(head_starts.head_share(settings))]
        return protect_command([*_train(settings, path), *share])

    return release


def _train_from_a_released_head(settings: Settings) -> Release:
    """``train --start``, with the line that says what both promise together."""
    settings = _without_persons(head_starts.covered(settings))

    def release(path: Path) -> Published:
        data = head_starts.read_texts(path, settings)
        with (
            head_starts.saved_head(settings, data, path) as (head, place),
            partial_folder("reticent-") as folder,
        ):
            out = Path(folder) / "out"
            start = ["--start", str(place), "--start-people", "same", "--out", str(out)]
            printed = command([*_train(settings, path), *start]).replace(str(out), "OUT")
            return head_starts.both_published(head, load(out), printed.encode())

    return release


def _train(settings: Settings, path: Path) -> list[str]:
    said: dict[str, Any] = {
        "--text": TEXT,
        "--model": head_starts.architecture_of(settings),
        "--shape": settings.shape.width,
        "--mechanism": settings.mechanism,
        "--delta": settings.delta,
        **{f"--{name}": settings.options("network")[name] for name in ("batch", "epochs")},
    }
    spoken = [text for option, value in said.items() for text in (option, str(value))]
    return ["train", *_spoken(settings, path), *spoken]


def _without_persons(settings: Settings) -> Settings:
    shape = dataclasses.replace(settings.shape, persons=False)
    return dataclasses.replace(settings, shape=shape, max_records_per_person=None)


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
                delta=1e-5,
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


def _test_rows(shape: Shape) -> tuple[Any, list[str]]:
    rows = np.cos(np.arange(_TEST_RECORDS * shape.width)).reshape(-1, shape.width)
    return rows, [shape.classes[i % len(shape.classes)] for i in range(_TEST_RECORDS)]


def _public_test(settings: Settings) -> Dataset:
    rows, labels = _test_rows(settings.shape)
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
        rows, labels = _test_rows(settings.shape)
        columns: dict[str, Any] = {
            name: rows[:, i].tolist() for i, name in enumerate(settings.shape.features)
        }
        with partial_folder("reticent-") as folder:
            test = Table(columns | {LABEL: labels}).write(Path(folder) / "test.csv", Writing())
            out = Path(folder) / "out"
            spoken = ["run", *_spoken(settings, path), "--delta", "1e-5", "--test", str(test)]
            spoken += ["--bound", str(settings.bound), "--norms", settings.norms, "--jobs", "1"]
            spoken += ["--draws", "2", "--shadows", "10", "--epsilons", str(settings.epsilon)]
            command([*spoken, "--out", str(out)])
            found = _written(out / "released", "")
        # The job draws many releases, each a release by itself: ε covers one of them.
        return found._replace(claims=(Covered(found.claims[0].guarantee, ()),))

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
    }


RUN_COMMAND: Final = {"run (command)": Audited(build=_run_command, embedded=False, tame=True)}

"""``--backend`` and ``--address`` of every command of many tasks."""

import pytest

from reticent import parallel
from reticent.cli import backend as module
from reticent.cli.main import BAD_INPUT, run
from reticent.validation import InputError

TABLES = ("--private", "t.npz", "--test", "t.npz", "--epsilon", "1", "--delta", "1e-5")
COMMANDS = (
    ("run", *TABLES),
    ("attack", "--target", "m", "--members", "t.npz", "--nonmembers", "t.npz"),
    ("audit", "released", "--private", "t.npz"),
    ("reproduce", "alm"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_long_command_takes_a_backend(command, capsys):
    assert run([*command, "--backend", "dask"]) == BAD_INPUT
    assert "backend must be loky or ray, got 'dask'" in capsys.readouterr().err
    assert run([*command, "--address", "here:6379"]) == BAD_INPUT
    assert "address must be said with the backend ray" in capsys.readouterr().err


def test_on_a_cluster_all_cores_are_taken_where_one_process_is_usual(monkeypatch):
    seen = []
    monkeypatch.setattr(parallel, "workers", lambda jobs: 7)
    monkeypatch.setattr(parallel, "tasks_on", lambda *_, address: pytest.MonkeyPatch.context())

    def command(jobs: int = 1) -> None:
        seen.append(jobs)

    placed = module.with_backend(command)
    for jobs in (1, 3):
        placed(jobs=jobs, backend="ray")
        placed(jobs=jobs)
    assert seen == [7, 1, 3, 3]


def test_what_is_one_task_is_refused_on_a_cluster(monkeypatch):
    module.refuse_cluster("--function")
    monkeypatch.setattr(parallel, "workers_are_remote", lambda: True)
    with pytest.raises(InputError, match="--backend must be loky with --function"):
        module.refuse_cluster("--function")

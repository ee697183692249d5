"""Dockerfile and compose file, as far as they can be read without a container engine."""

import fnmatch
import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import typer
import yaml
from packaging.requirements import Requirement

from reticent.cli.main import app

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICE, DATABASE = COMPOSE["services"]["service"], COMPOSE["services"]["database"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
KNOWN = {"ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL",
         "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"}  # fmt: skip


def instructions():
    """The lines of the Dockerfile, continued ones joined: instruction and rest."""
    text = DOCKERFILE.replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def rest_of(name):
    """What stands behind the one instruction of this name."""
    (rest,) = [rest for instruction, rest in instructions() if instruction == name]
    return rest


def environment():
    """The variables that the image sets."""
    return dict(word.split("=", 1) for word in shlex.split(rest_of("ENV")))


def health_check():
    """The program that the image's health check runs."""
    words = json.loads(rest_of("HEALTHCHECK").split("CMD", 1)[1])
    assert words[:2] == ["python", "-c"]
    return words[2]


def parsed(words):
    """The values of a ``reticent serve`` command, read as the real command reads them."""
    assert words[0] == "serve"
    command = typer.main.get_command(app).commands["serve"]
    return command.make_context("serve", words[1:]).params


def served():
    """The command of the compose file."""
    return parsed(shlex.split(SERVICE["command"]))


def mounts(service):
    """Where its volumes are, by what is mounted there."""
    return dict(volume.split(":")[:2] for volume in service["volumes"])


def test_every_instruction_is_one():
    names = [name for name, _ in instructions()]
    assert set(names) <= KNOWN
    assert names[0] == "FROM"
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", DOCKERFILE, re.MULTILINE)
    copied = re.findall(r"--from=(\w+)", DOCKERFILE)
    assert set(copied) <= {stage for _, stage in stages}
    (image,) = {image for image, _ in stages}  # what is compiled in one runs in the other
    version = re.fullmatch(r"python:(\d\.\d+)-slim", image).group(1)
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(f"{version}.0")


def test_what_is_copied_is_there_and_reaches_the_build():
    """The build sees what .dockerignore lets through."""
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"]
    for name, rest in instructions():
        if name == "COPY" and "--from" not in rest:
            *sources, _ = rest.split()
            assert all((ROOT / source).exists() for source in sources), rest
            assert all(any(fnmatch.fnmatch(one, kept) for kept in let_in) for one in sources), rest
    named = [PROJECT["readme"], *PROJECT.get("license-files", ())]
    copied = " ".join(rest for name, rest in instructions() if name == "COPY")
    assert all(name in copied for name in named if (ROOT / name).exists())


def installed():
    """What the image installs, with everything that is needed for it: name and extras of each."""
    (extras,) = re.findall(r'--constraint constraints.txt "\.\[([a-z,]+)\]"', DOCKERFILE)
    optional = PROJECT["optional-dependencies"]
    due = [Requirement(text) for text in PROJECT["dependencies"]]
    due += [Requirement(text) for extra in extras.split(",") for text in optional[extra]]
    found = {}
    while due:
        wanted = due.pop()
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        key = name, frozenset(wanted.extras)
        if key in found:
            found[key].append(wanted)
            continue
        found[key] = [wanted]
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            chosen = [{"extra": extra} for extra in ("", *wanted.extras)]
            if needed.marker is None or any(needed.marker.evaluate(one) for one in chosen):
                due.append(needed)
    return found


def pins(path):
    """Name and version of each line of a file of pins."""
    lines = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s\\;]+)", path.read_text(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in lines}


def test_what_it_installs_is_pinned_and_locked():
    """Each package that pip would fetch has one version, which the requirement allows."""
    constraints, locked = pins(ROOT / "constraints.txt"), pins(ROOT / "requirements" / "test.txt")
    found = installed()
    assert {"fastapi", "uvicorn", "psycopg", "psycopg-binary", "pyarrow"} <= {n for n, _ in found}
    for (name, _), wanted in found.items():
        assert name in constraints, f"{name} is not pinned"
        assert locked[name] == constraints[name]
        for requirement in wanted:
            assert requirement.specifier.contains(constraints[name], prereleases=True), requirement


def test_it_starts_our_command_and_not_as_root():
    assert "reticent" in PROJECT["scripts"]
    assert json.loads(rest_of("ENTRYPOINT")) == ["reticent"]
    assert rest_of("USER") == "reticent"
    with pytest.raises(typer.Exit) as ended:  # what it says to whoever gives no command
        parsed(json.loads(rest_of("CMD")))
    assert ended.value.exit_code == 0


def test_the_ports_are_one():
    (published,) = SERVICE["ports"]
    address, outside, inside = published.split(":")
    assert (address, outside) == ("127.0.0.1", inside)  # a proxy with a certificate is in front
    assert {inside, rest_of("EXPOSE"), str(served()["port"])} == {"8600"}
    assert f":{inside}/" in health_check()


def test_the_health_check_asks_the_service_whether_it_is_ready(tmp_path):
    """The program of the image, run against a service; and against none."""
    from tests.service.conftest import running
    from tests.service.raw_services import released_service

    with running(released_service("texts", tmp_path).app) as url:
        program = health_check().replace("http://127.0.0.1:8600", url)
        assert program != health_check()
        exec(compile(program, "HEALTHCHECK", "exec"), {})
        missing = program.replace("/v2/health/ready", "/v2/health/other")
        with pytest.raises(OSError, match="404"):
            exec(compile(missing, "HEALTHCHECK", "exec"), {})
    with pytest.raises(OSError, match="refused"):
        exec(compile(program, "HEALTHCHECK", "exec"), {})


def test_the_command_of_the_compose_file_is_one_of_ours():
    from reticent.service.listening import DRAIN_SECONDS, Listen

    values = served()
    assert values["host"] == "0.0.0.0"
    Listen(host=values["host"], behind_proxy=values["behind_proxy"], workers=values["workers"])
    assert all(values[name] is not None for name in ("answers", "fit", "ledger", "data_set"))
    assert SERVICE["build"] == "."
    assert int(SERVICE["stop_grace_period"].removesuffix("s")) > DRAIN_SECONDS
    assert rest_of("STOPSIGNAL") == "SIGTERM"


def test_files_lie_where_volumes_are():
    """Plan and head beside each other, in the working folder; the witness outlives a container."""
    values, at = served(), mounts(SERVICE)
    assert set(json.loads(rest_of("VOLUME"))) == set(at.values())
    workdirs = [rest for name, rest in instructions() if name == "WORKDIR"]
    assert workdirs[-1] == at["./data"]
    assert not values["answers"].is_absolute()
    assert not values["fit"].is_absolute()
    assert environment()["RETICENT_WITNESS"] == at["witness"]
    made = shlex.split(next(rest for name, rest in instructions() if "install -d" in rest))
    assert set(at.values()) <= set(made)  # they belong to the user who runs


def test_every_variable_is_read_by_somebody():
    from psycopg import pq

    ours = {path.read_text() for path in (ROOT / "src").rglob("*.py")}
    driver = {one.envvar.decode() for one in pq.Conninfo.get_defaults() if one.envvar}
    others = {"PATH", "PYTHONUNBUFFERED", "OMP_NUM_THREADS"}
    for name in {*environment(), *SERVICE["environment"]} - others:
        assert name in driver or any(f'"{name}"' in text for text in ours), name
    known = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE"}  # of the image postgres
    assert set(DATABASE["environment"]) == known


def test_the_ledger_is_the_database_beside_it():
    from sqlalchemy.engine import make_url

    url = make_url(served()["ledger"])
    given = DATABASE["environment"]
    assert COMPOSE["services"][url.host] is DATABASE
    assert (url.username, url.database) == (given["POSTGRES_USER"], given["POSTGRES_DB"])
    assert url.password is None  # it would stand in the list of processes
    line = f"{url.host}:5432:{url.database}:{url.username}:PASSWORD"
    assert line in (ROOT / "compose.yaml").read_text()  # what the file of passwords must hold
    probe = DATABASE["healthcheck"]["test"][1]
    assert f"-U {url.username} -d {url.database}" in probe
    assert SERVICE["depends_on"]["database"]["condition"] == "service_healthy"


def test_every_secret_and_volume_is_declared_and_used():
    named = set()
    for service in COMPOSE["services"].values():
        secrets = set(service.get("secrets", ()))
        files = [value for value in service["environment"].values() if "/run/secrets/" in value]
        assert {Path(value).name for value in files} == secrets <= set(COMPOSE["secrets"])
        named |= {source for source in mounts(service) if source[0] not in "./"}
    assert named == set(COMPOSE["volumes"])


ALONE = """
import json, sys
missing = set(json.loads(sys.argv[1]))

class Refusing:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if path is None and top in missing:
            raise ModuleNotFoundError(f"not in the image: {name}", name=name)

sys.meta_path.insert(0, Refusing())
import numpy as np
from pathlib import Path
from reticent.cli.main import run
rows = np.random.default_rng(0).normal(size=(60, 3))
np.savez("p.npz", features=rows, y=np.where(rows[:, 0] > 0, "a", "b"))
table = "--private p.npz --label y"
terms = "--epsilon 2 --delta 1e-6 --relation add-remove"
for line in (
    f"fit {table} --classes a,b --bound 3 --records 60 --penalty 0.1 --out head",
    f"plan-answers --fit head --queries 9 {terms} --ledger l.sqlite --data-set d --out plan.json",
):
    assert run(line.split()) == 0, line
from reticent.service.serving import PrivateTable, ServeSpec, built
spec = ServeSpec(
    name="m", plan=Path("plan.json"), fit=Path("head"), ledger="l.sqlite", data_set="d",
    private=PrivateTable(path=Path("p.npz"), label="y"),
)
built(spec)
print("built")
"""


@pytest.mark.slow
def test_the_service_needs_nothing_that_the_image_lacks(tmp_path):
    """Protected answers are built with the packages of the image alone, and the driver is there."""
    names = {name for name, _ in installed()}
    missing = {
        module
        for module, owners in metadata.packages_distributions().items()
        if not {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners} & {*names, "reticent"}
    }
    assert {"torch", "pandas", "pytest"} <= missing
    assert not {"psycopg", "psycopg_binary", "pyarrow"} & missing
    ran = subprocess.run(
        [sys.executable, "-c", ALONE, json.dumps(sorted(missing))], cwd=tmp_path,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.stdout.rstrip().endswith("built"), ran.stderr[-2000:]

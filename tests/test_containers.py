"""Dockerfile and compose file, as far as they can be read without a container engine."""

import re
import shlex
from pathlib import Path

import typer
import yaml

from reticent.cli.main import app

ROOT = Path(__file__).parents[1]
PLACES = {"/data", "/witness"}


def instructions():
    """The lines of the Dockerfile, continued ones joined: instruction and rest."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def serve_options():
    """The options that ``reticent serve`` knows."""
    command = typer.main.get_command(app).commands["serve"]
    return {name for parameter in command.params for name in parameter.opts}


def test_what_is_copied_is_there():
    for name, rest in instructions():
        if name == "COPY" and "--from" not in rest:
            *sources, _ = rest.split()
            assert all((ROOT / source).exists() for source in sources), rest


def test_the_extras_that_it_installs_exist():
    (extras,) = re.findall(r'"\.\[([a-z,]+)\]"', (ROOT / "Dockerfile").read_text())
    import tomllib

    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(known["optional-dependencies"])
    assert "reticent" in known["scripts"]
    assert ("ENTRYPOINT", '["reticent"]') in instructions()


def test_it_does_not_run_as_root_and_is_healthy_where_it_is_ready():
    lines = instructions()
    assert ("USER", "reticent") in lines
    (health,) = [rest for name, rest in lines if name == "HEALTHCHECK"]
    assert "/v2/health/ready" in health


def test_the_command_of_the_compose_file_is_one_of_ours():
    """Every option is known, every needed one is there, and the fit is where a volume is."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    words = shlex.split(services["service"]["command"])
    options = [word for word in words if word.startswith("--")]
    assert words[0] == "serve"
    assert set(options) <= serve_options()
    assert {"--answers", "--fit", "--ledger", "--data-set", "--behind-proxy"} <= set(options)
    assert services["service"]["build"] == "."
    mounted = {volume.split(":")[1] for volume in services["service"]["volumes"]}
    assert mounted == PLACES
    (port,) = services["service"]["ports"]
    assert port.startswith("127.0.0.1:")


def test_every_secret_and_volume_is_declared():
    document = yaml.safe_load((ROOT / "compose.yaml").read_text())
    for service in document["services"].values():
        assert set(service.get("secrets", ())) <= set(document["secrets"])
        named = {volume.split(":")[0] for volume in service["volumes"]}
        assert {name for name in named if name[0] not in "./"} <= set(document["volumes"])
        for before in service.get("depends_on", ()):
            assert "healthcheck" in document["services"][before]

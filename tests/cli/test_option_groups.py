"""Options that go together are one parameter of a command, and options of its own for Typer."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from reticent.cli.option_groups import option_name, typed, with_option_groups, with_options


@dataclass(frozen=True, kw_only=True)
class Size:
    """A group with an option that must be typed."""

    width: Annotated[int, typer.Option(help="How wide.")]
    max_height: Annotated[float | None, typer.Option(help="How high.")] = None


@dataclass(frozen=True, kw_only=True)
class Colour:
    """A group with a flag."""

    dark: Annotated[bool, typer.Option("--dark", help="Whether it is dark.")] = False
    names: Annotated[list[str] | None, typer.Option("--name", help="Of it.")] = None


@pytest.fixture
def paint():
    """A command of two groups, and what it was called with."""
    called = []

    @with_option_groups
    def command(
        title: Annotated[str, typer.Argument()], size: Size, colour: Colour, times: int = 1
    ) -> None:
        """Paint it."""
        called.append((title, size, colour, times))

    app = typer.Typer()
    app.command()(command)
    return lambda *words: CliRunner().invoke(app, words), called, command


def test_a_command_is_given_its_groups(paint):
    run, called, _ = paint
    words = ("house", "--width", "3", "--dark", "--name", "a", "--name", "b", "--times", "2")
    assert run(*words).exit_code == 0
    assert called == [("house", Size(width=3), Colour(dark=True, names=["a", "b"]), 2)]


def test_what_a_group_needs_must_be_typed(paint):
    run, called, _ = paint
    result = run("house", "--dark")
    assert result.exit_code == 2
    assert "--width" in result.output
    assert called == []


def test_help_lists_every_option_of_a_group(paint):
    run, _, command = paint
    shown = run("--help").output
    assert all(word in shown for word in ("--width", "--max-height", "--dark", "--name", "--times"))
    names = list(inspect.signature(command).parameters)
    assert names == ["title", "width", "max_height", "dark", "names", "times"]


def test_a_wrapper_adds_options_to_those_of_groups(paint):
    _, called, command = paint

    def placed(**options):
        options["title"] += options.pop("suffix")
        command(**options)

    placed.__wrapped__ = command
    suffix = Annotated[str, typer.Option(help="Behind the title.")]
    app = typer.Typer()
    app.command()(with_options(placed, {"suffix": (suffix, "!")}))
    runner = CliRunner()
    for more in ((), ("--suffix", "?")):
        assert runner.invoke(app, ["house", "--width", "1", *more]).exit_code == 0
    assert [title for title, *_ in called] == ["house!", "house?"]


def test_typed_are_those_that_are_not_usual():
    size = Size(width=0, max_height=0.0)
    assert typed(size) == {"width": 0, "max_height": 0.0}
    assert typed(size, ("max_height",)) == {"max_height": 0.0}
    assert typed(Colour()) == {}
    assert option_name("max_height") == "--max-height"

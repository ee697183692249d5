"""``--help``: nothing is cut off, and every option stands once, under its topic."""

import pytest
import typer

from reticent.cli.app import PANELS, app
from reticent.cli.help_pages import FEWEST, OWN, SECTIONS, first_sentence, section_of

PROGRAM = typer.main.get_command(app)


def help_of(*path, width=80):
    command, context = PROGRAM, typer.Context(PROGRAM, info_name="reticent", terminal_width=width)
    for name in path:
        command = command.commands[name]
        context = typer.Context(command, info_name=name, parent=context, terminal_width=width)
    return command.get_help(context)


def options_of(command):
    return [one for one in command.params if one.param_type_name == "option"]


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_list_of_commands_has_every_command_with_its_whole_sentence(width):
    page = help_of(width=width)
    for name, command in PROGRAM.commands.items():
        assert f"{name} {first_sentence(command)}" in words(page)
    assert page.count("...") == 1  # COMMAND [ARGS]...


def test_commands_stand_under_what_they_are_for():
    page = help_of()
    starts = [page.index(f"{panel}:") for panel in PANELS]
    assert starts == sorted(starts)
    for panel, commands in PANELS.items():
        end = min((start for start in starts if start > page.index(f"{panel}:")), default=len(page))
        for name in commands:
            assert f"\n  {name} " in page[page.index(f"{panel}:") : end]


LONG = [name for name, one in PROGRAM.commands.items() if len(options_of(one)) >= FEWEST]


@pytest.mark.parametrize("name", LONG)
def test_every_option_of_a_long_command_stands_once_under_its_section(name):
    listed, title = {}, ""
    for line in help_of(name).splitlines():
        if line.endswith(":") and not line.startswith(" "):
            title = line[:-1]
        elif title and line.startswith("  --"):
            listed.setdefault(line.split()[0], []).append(title)
    for option in options_of(PROGRAM.commands[name]):
        assert listed[option.opts[0]] == [section_of(option)]


@pytest.mark.parametrize("name", LONG)
def test_options_of_a_section_stand_in_one_order_on_every_page(name):
    shown = [line.split()[0][2:] for line in help_of(name).splitlines() if line.startswith("  --")]
    for names in SECTIONS.values():
        own = [option for option in shown if option in names]
        assert own == sorted(own, key=names.index)


def test_the_sections_name_options_that_exist():
    """An option that was renamed would fall among the command's own without a word."""
    known = {
        option.opts[0].removeprefix("--")
        for command in PROGRAM.commands.values()
        for option in command.params
    }
    assert {name for names in SECTIONS.values() for name in names} - {"help"} <= known
    assert SECTIONS[OWN] == ()


def test_a_short_command_has_one_list():
    assert "\nOptions:\n" in help_of("verify")
    assert "\nOutput:\n" not in help_of("verify")

"""How ``--help`` is laid out: commands by what they are for, many options by their topic."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

OWN = "Options"
SECTIONS: dict[str, tuple[str, ...]] = {
    "The records": (
        *("private", "members", "nonmembers", "population", "test", "test-is-public", "data"),
        *("schema", "label", "target-range", "features", "drop", "embedding", "text"),
        *("encoder", "encoder-people", "person", "max-records-per-person"),
    ),
    "Public numbers": ("classes", "bound", "records", "records-from-data", "rarest-share"),
    "What is promised": ("epsilon", "delta", "pure", "relation"),
    OWN: (),
    "Ledger and signature": ("ledger", "data-set", "open-account", "sign"),
    "Processes": ("jobs", "backend", "address"),
    "Output": ("out", "scores-out", "replace", "json", "quiet", "verbose", "help"),
}
"""Sections and their options in the order of a page; what stands nowhere is the command's own."""
FEWEST = 12
"""Options of a page that is cut into sections."""


class SectionedCommand(TyperCommand):
    """A command whose options, where they are many, stand in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then the sections in their order."""
        options = [p for p in self.get_params(ctx) if p.param_type_name == "option"]
        if len(options) < FEWEST:
            super().format_options(ctx, formatter)
            return
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        _write_section(ctx, formatter, "Arguments", arguments)
        for title, names in SECTIONS.items():
            inside = [option for option in options if section_of(option) == title]
            if names:
                inside.sort(key=lambda option: names.index(_name(option)))
            _write_section(ctx, formatter, title, inside)


class SectionedGroup(TyperGroup):
    """Commands under the panels that they were registered with, each with its whole sentence."""

    command_class = SectionedCommand

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer gives it
        """One list for each panel, in the order of their first commands; nothing is cut off."""
        panels: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands), default=0)
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None)
            title = panel if isinstance(panel, str) else "Commands"
            panels.setdefault(title, []).append((name.ljust(width), first_sentence(command)))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def section_of(option: Any) -> str:
    """The title of the section that an option stands in."""
    name = _name(option)
    return next((title for title, names in SECTIONS.items() if name in names), OWN)


def _name(option: Any) -> str:
    return str(option.opts[0]).removeprefix("--")


def first_sentence(command: Any) -> str:
    r"""What a list of commands says of one: the first paragraph of its help, on one line.

    >>> first_sentence(TyperCommand("plan", help="What it costs.  Nothing is read.\n\nMore."))
    'What it costs. Nothing is read.'
    """
    return " ".join((command.help or "").split("\n\n")[0].split())


def _write_section(ctx: Any, formatter: Any, title: str, parameters: list[Any]) -> None:
    rows = [row for one in parameters if (row := one.get_help_record(ctx)) is not None]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)

"""Options that go together as one parameter: a dataclass whose fields are options."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_type_hints

Command = Callable[..., None]


def with_option_groups(command: Command) -> Command:
    """The command with an option for each field of the dataclasses among its parameters.

    Typer knows no groups: it is shown the fields, and the command is given the dataclasses.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if dataclasses.is_dataclass(parameter.annotation)
    }

    @functools.wraps(command)
    def ungrouped(*arguments: Any, **options: Any) -> None:
        built = {}
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            built[name] = group(**{one: options.pop(one) for one in fields if one in options})
        command(*arguments, **options, **built)

    shown: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        shown += _parameters(groups[name]) if name in groups else [parameter]
    return _with_signature(ungrouped, shown)


def with_options(wrapper: Command, options: Mapping[str, tuple[Any, Any]]) -> Command:
    """A wrapper of a command with more options than that has: annotation and default of each."""
    own = inspect.signature(wrapper, eval_str=True).parameters.values()
    added = [_parameter(name, *option) for name, option in options.items()]
    return _with_signature(wrapper, [*own, *added])


def typed(group: Any, names: Collection[str] | None = None) -> dict[str, Any]:
    """The options of a group (of these names) that were typed: that have no usual value."""
    return {
        field.name: value
        for field in dataclasses.fields(group)
        if (value := getattr(group, field.name)) != field.default
        and (names is None or field.name in names)
    }


def option_name(name: str) -> str:
    """A parameter's name as it is typed.

    >>> option_name("max_records_per_person")
    '--max-records-per-person'
    """
    return "--" + name.replace("_", "-")


def _parameters(group: Any) -> list[inspect.Parameter]:
    annotations = get_type_hints(group, include_extras=True)
    return [
        _parameter(field.name, annotations[field.name], field.default)
        for field in dataclasses.fields(group)
    ]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    if default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _with_signature(command: Command, parameters: list[inspect.Parameter]) -> Command:
    """Typer reads the names alone, so all parameters become keywords, in this order."""
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    command.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return command

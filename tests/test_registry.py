"""One kind of registry: lazy names of the package, plug-ins beside them, entry points read once."""

import sys
from importlib.metadata import EntryPoint

import pytest

from reticent import registry
from reticent.registry import Lazy, Registry
from reticent.validation import InputError

NOWHERE = "tests.no_such_module:thing"


def numbers(**own):
    lines = {"pi": Lazy("math:pi", "of a circle", "real"), "e": Lazy("math:e")} | own
    return Registry("number", lines, entry_group="reticent.tests.none")


def test_names_cost_no_import_and_things_are_loaded_when_asked_for():
    found = numbers(lost=Lazy(NOWHERE, "nowhere"))
    assert list(found) == ["pi", "e", "lost"]
    assert (len(found), "lost" in found, found.summary("lost")) == (3, True, "nowhere")
    assert found["pi"] is sys.modules["math"].pi
    with pytest.raises(ModuleNotFoundError):
        found["lost"]


def test_plug_ins_stand_behind_those_of_the_package_and_can_be_taken_out():
    found = numbers()
    found.register("two", 2)
    assert list(found) == ["pi", "e", "two"]
    assert (found["two"], found.is_own("two"), found.is_own("pi")) == (2, False, True)
    found.unregister("two")
    assert "two" not in found
    with pytest.raises(KeyError):
        found["two"]


@pytest.mark.parametrize("name", ["pi", "two"])
def test_a_name_that_is_taken_is_refused(name):
    found = numbers()
    found.register("two", 2)
    with pytest.raises(InputError, match=f"number must have a name of its own, got '{name}' again"):
        found.register(name, 3)
    assert found["two"] == 2


def test_nobody_takes_out_what_the_package_brings():
    found = numbers()
    found.unregister("pi")
    assert found.is_own("pi")
    assert found["pi"] > 3


@pytest.mark.parametrize("name", ["tau", None, 1, ["pi"]])
def test_unknown_names_are_refused_with_the_list_of_known_ones(name):
    with pytest.raises(InputError, match=r"number must be one of pi, e, got "):
        numbers().named(name)


def test_summary_and_group_of_a_plug_in_are_its_own():
    class Counted:
        summary, kind = "how many", "whole"

    found = numbers()
    found.register("count", Counted)
    found.register("plain", 7)
    assert (found.summary("count"), found.group("count", "kind")) == ("how many", "whole")
    assert (found.summary("plain"), found.group("plain", "kind")) == ("", "")
    assert (found.summary("pi"), found.group("pi", "kind")) == ("of a circle", "real")


def test_entry_points_are_read_once_load_late_and_never_replace_the_package_s_own(monkeypatch):
    asked = []

    def installed(*, group):
        asked.append(group)
        named = {"tau": "math:tau", "pi": "math:e", "lost": NOWHERE}
        return [EntryPoint(name=name, value=value, group=group) for name, value in named.items()]

    monkeypatch.setattr(registry, "entry_points", installed)
    found = Registry("number", {"pi": Lazy("math:pi")})
    assert asked == []
    assert list(found) == ["pi", "tau", "lost"]
    assert 3.1 < found["pi"] < 3.2  # not e
    assert found["tau"] == pytest.approx(2 * found["pi"])
    assert not found.is_own("tau")
    assert asked == ["reticent.numbers"]
    with pytest.raises(ModuleNotFoundError):
        found["lost"]

"""Names of accounts: one spelling each, and none that a reader could take for another's.

A second account with a name that looks the same ("patients " or "Pаtients" with a Cyrillic а) has a
budget of its own: whoever charges it by mistake, or on purpose, walks around the first one's.
"""

import unicodedata
from collections.abc import Callable
from functools import cache

from reticent.validation import InputError, line

MOST_CHARACTERS = 1000
_ROUNDS = 8
"""Folding case can make a letter that looks like another, and back; three rounds were the most."""


def short_line(what: str, value: object) -> str:
    """A printable line of at most 1,000 characters, stripped, in Unicode's composed form (NFC)."""
    text = unicodedata.normalize("NFC", line(what, value).strip())
    if len(text) > MOST_CHARACTERS or not text.isprintable():
        raise InputError(f"{what} must be at most {MOST_CHARACTERS} printable characters, got more")
    return text


def account_name(value: object) -> str:
    """The name that an account is kept under."""
    return short_line("account", value)


def skeleton(name: str) -> str:
    """What two names share that look alike: Unicode's skeleton (UTS 39, section 4).

    >>> skeleton("Patients") == skeleton("Pаtients")  # the second а is Cyrillic
    True
    """
    return _settled(name, _mapped)


def folded(name: str) -> str:
    """The skeleton without upper and lower case: of names that differ in case or in look alone.

    >>> folded("PATIENTS") == folded("patients"), folded("mail") == folded("mall")
    (True, False)
    """
    return _settled(name, lambda text: _mapped(unicodedata.normalize("NFKD", text).casefold()))


def _settled(name: str, step: Callable[[str], str]) -> str:
    for _ in range(_ROUNDS):
        before, name = name, step(name)
        if name == before:
            break
    return name


def _mapped(name: str) -> str:
    letters = (_prototype(letter) for letter in unicodedata.normalize("NFKD", name))
    return " ".join("".join(letters).split())


def _prototype(letter: str) -> str:
    return (
        letter if letter.isascii() and letter.islower() and letter != "m" else _prototypes(letter)
    )


@cache
def _prototypes(letter: str) -> str:
    """The text that stands for all that look like this letter.

    The package's table has two directions: a letter leads to its prototype alone, a prototype to
    all letters that it stands for. Of a pair, either may be the prototype; the smaller is taken.
    """
    from confusable_homoglyphs.confusables import confusables_data as table

    alike = [_unmarked(str(one["c"])) for one in table.get(letter, ())]
    if len(alike) != 1:
        return letter
    (other,) = alike
    back = [_unmarked(str(one["c"])) for one in table.get(other, ())]
    return min(letter, other) if back == [letter] and len(other) == 1 else other


def _unmarked(text: str) -> str:
    """Without the marks of direction that the table puts around letters of scripts to the left."""
    return unicodedata.normalize("NFKD", text.strip("\u200e\u200f"))

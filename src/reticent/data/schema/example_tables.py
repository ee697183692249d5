"""Raw tables to try everything on: tickets of a help desk, made up, with texts, dates and gaps.

Nobody's records: each cell is drawn from a fixed seed by Python's own generator, whose numbers are
the same in every version. Separator and decimal mark are those of a continental office.
"""

import datetime
import random
from pathlib import Path
from typing import Final, NamedTuple

HEADER: Final = ("ticket", "opened", "plan", "waited", "returning", "message", "team")
_FIRST: Final = datetime.date(2023, 1, 2)
_DAYS: Final = 1090
_VAGUELY: Final = 0.2
_VAGUE: Final = (
    "I have a question about my subscription",
    "something is wrong and I do not know what",
    "nobody answered my last message",
    "please call me back as soon as you can",
)
_MORE: Final = ("thank you", "this is the second time", "I am waiting", "kind regards")
"""What everybody writes, whichever team it is for."""


class _Team(NamedTuple):
    """How messages to a team are worded, who writes them and how long they wait."""

    name: str
    share: float
    what: tuple[str, ...]
    more: tuple[str, ...]
    business: float
    hours: float


_TEAMS: Final = (
    _Team(
        "billing",
        0.4,
        (
            "the invoice of last month shows the wrong amount",
            "my card was charged twice for the same order",
            "I need a receipt with our tax number on it",
            "the refund has not reached my bank account",
            "the discount is missing from the bill",
        ),
        ("please correct it", "our accountant asks for it", "I paid already", "when is it settled"),
        0.5,
        20.0,
    ),
    _Team(
        "technical",
        0.4,
        (
            "the app crashes whenever I open the map",
            "pages load very slowly since the update",
            "the export stops with an error message",
            "synchronising two phones does not work",
            "the screen stays black after the start",
        ),
        ("I restarted twice", "it worked last week", "the log is attached", "any workaround"),
        0.3,
        8.0,
    ),
    _Team(
        "access",
        0.2,
        (
            "I forgot my password and the mail does not arrive",
            "my account is locked after three attempts",
            "please delete my user profile and my data",
            "the login code is refused every time",
            "a colleague left and her access must be removed",
        ),
        ("it is urgent", "I changed my address", "the link has expired", "thank you for the help"),
        0.2,
        4.0,
    ),
)


class _Table(NamedTuple):
    """A table of so many tickets; queries have no column of teams."""

    name: str
    rows: int
    labelled: bool = True


TABLES: Final = (
    _Table("published.csv", 80),
    _Table("private.csv", 600),
    _Table("test.csv", 150),
    _Table("new.csv", 5, labelled=False),
)


def write_example_tables(folder: Path) -> list[Path]:
    """Write the tables into a folder: a published sample, private records, others, new ones."""
    from reticent.files import write_atomic

    written = []
    for table in TABLES:
        rng = random.Random(f"reticent tickets {table.name}")
        width = len(HEADER) if table.labelled else len(HEADER) - 1
        rows = [HEADER, *(_ticket(rng, number) for number in range(1, table.rows + 1))]
        text = "".join(";".join(row[:width]) + "\n" for row in rows)
        write_atomic(folder / table.name, text.encode())
        written.append(folder / table.name)
    return written


def _ticket(rng: random.Random, number: int) -> tuple[str, ...]:
    """One ticket: the team is drawn first, the rest given the team."""
    team = _drawn(rng, _TEAMS, [one.share for one in _TEAMS])
    opened = _FIRST + datetime.timedelta(days=int(rng.random() * _DAYS))
    plan = "business" if rng.random() < team.business else _picked(rng, ("free", "personal"))
    waited = f"{team.hours * (0.2 + 2 * rng.random()):.1f}".replace(".", ",")
    what = _VAGUE if rng.random() < _VAGUELY else team.what
    message = f"{_picked(rng, what)}, {_picked(rng, team.more if what is team.what else _MORE)}"
    return (
        str(40_000 + 7 * number),
        opened.strftime("%d.%m.%Y"),
        "?" if rng.random() < 0.06 else plan,
        "" if rng.random() < 0.1 else waited,
        "yes" if rng.random() < 0.3 else "no",
        message[0].upper() + message[1:],
        team.name,
    )


def _picked(rng: random.Random, choices: tuple[str, ...]) -> str:
    return choices[int(rng.random() * len(choices))]


def _drawn(rng: random.Random, teams: tuple[_Team, ...], shares: list[float]) -> _Team:
    at = rng.random() * sum(shares)
    for team, share in zip(teams, shares, strict=True):
        at -= share
        if at < 0:
            return team
    return teams[-1]

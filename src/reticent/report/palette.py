"""Colours by name: the same in a file, on a light page and on a dark one.

Figures are drawn in the light colours. Inside the page each becomes a CSS variable, which the
theme sets. Series have Okabe and Ito's colours, which differ for colour-blind readers too.
"""

from typing import Final

LIGHT: Final = {
    "ink": "#1b1e23",
    "muted": "#5a6169",
    "bad": "#a63c00",
    "grid": "#e4e6e9",
    "surface": "#ffffff",
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
}
DARK: Final = LIGHT | {
    "ink": "#eceef1",
    "muted": "#a7aeb8",
    "bad": "#ffa66b",
    "grid": "#343a43",
    "surface": "#1c2026",
    "blue": "#56b4e9",
    "vermillion": "#f0803c",
    "green": "#2fbf93",
    "purple": "#d99bbd",
    "sky": "#9ad4f5",
}
SERIES: Final = ("blue", "vermillion", "green", "purple", "orange", "sky")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "p")


def variable(name: str) -> str:
    """The CSS variable of a colour.

    >>> variable("ink")
    'var(--ink)'
    """
    return f"var(--{name})"


def declarations(colours: dict[str, str]) -> str:
    """CSS that sets each variable."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())

"""A figure that is drawn once and shown three times: inside the page, as SVG, as PNG.

Figures are made without ``pyplot``, so that nothing global is left behind. Names of series and
records are untrusted text: formulas in them are not read, and they reach a file escaped.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reticent.report.palette import LIGHT, variable
from reticent.validation import printable

WIDTH: Final = 400
"""Points, in which a text of 11 is read on a phone and is not too large on a desk."""
_INCH: Final = 72
_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "http://www.w3.org/1999/xlink"
_STYLE: Final[dict[Any, Any]] = {
    "axes.axisbelow": True,
    "axes.edgecolor": LIGHT["muted"],
    "axes.facecolor": LIGHT["surface"],
    "axes.grid": True,
    "axes.labelcolor": LIGHT["ink"],
    "axes.labelsize": 11,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": LIGHT["surface"],
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with Matplotlib: the same on every machine
    "font.size": 10.5,
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.8,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "legend.labelcolor": LIGHT["ink"],
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "savefig.facecolor": LIGHT["surface"],
    "svg.fonttype": "none",
    "text.color": LIGHT["ink"],
    "text.parse_math": False,
    "xtick.color": LIGHT["muted"],
    "xtick.labelcolor": LIGHT["ink"],
    "ytick.color": LIGHT["muted"],
    "ytick.labelcolor": LIGHT["ink"],
}


@contextmanager
def styled() -> Iterator[None]:
    """Our look while figures are made and saved; nothing of it is left afterwards."""
    with rc_context(_STYLE), warnings.catch_warnings():
        # A label may be in any script; the page has the reader's fonts, the PNG shows boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


@dataclass(frozen=True, kw_only=True)
class SeriesStyle:
    """How a series is told from the others: by colour, marker, dash and filling."""

    colour: str
    marker: str = "o"
    dash: Any = "-"
    filled: bool = True

    @property
    def line(self) -> dict[str, Any]:
        """The keyword arguments of Matplotlib for a line."""
        return {"color": LIGHT[self.colour], "linestyle": self.dash}

    @property
    def point(self) -> dict[str, Any]:
        """The keyword arguments of Matplotlib for a marker."""
        colour = LIGHT[self.colour]
        face = colour if self.filled else LIGHT["surface"]
        return {
            "marker": self.marker,
            "markerfacecolor": face,
            "markeredgecolor": colour,
            "markeredgewidth": 1.4,
        }


@dataclass(eq=False)
class Canvas:
    """A figure in the making: one set of axes, or several one above the other."""

    name: str
    height: float
    panels: int = 1
    hovers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """An empty figure."""
        size = (WIDTH / _INCH, self.height / _INCH)
        self.figure = Figure(figsize=size, layout="constrained")
        self.all_axes: list[Axes] = list(self.figure.subplots(self.panels, squeeze=False)[:, 0])

    @property
    def axes(self) -> Axes:
        """The first, or only, axes."""
        return self.all_axes[0]

    def point(self, x: float, y: float, look: SeriesStyle, hover: str, **more: Any) -> None:
        """A point that says its values when it is pointed at."""
        axes = more.pop("axes", self.axes)
        key = f"point-{len(self.hovers)}"
        axes.plot([x], [y], linestyle="none", gid=key, **(look.point | more))
        self.hovers[key] = hover

    def done(self, *, title: str, caption: str, alt: str) -> "Drawing":
        """The figure with its words."""
        return Drawing(
            name=self.name,
            title=title,
            caption=caption,
            alt=alt,
            figure=self.figure,
            hovers=self.hovers,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawing:
    """A figure with its title, its caption and the text for who cannot see it."""

    name: str
    title: str
    caption: str
    alt: str
    figure: Figure
    hovers: dict[str, str]

    @cached_property
    def svg(self) -> str:
        """As it stands in a file: with its own colours and fonts."""
        root = self._tree()
        return f"{ElementTree.tostring(root, encoding='unicode')}\n"

    @cached_property
    def inline(self) -> str:
        """As it stands in the page: colours of the theme, fonts of the page, scaled to fit."""
        root = self._tree()
        for size in ("width", "height"):
            root.attrib.pop(size, None)
        for style in root.findall(f".//{{{_SVG}}}style/.."):  # would reach the whole page
            for child in style.findall(f"{{{_SVG}}}style"):
                style.remove(child)
        text = ElementTree.tostring(root, encoding="unicode")
        for name, colour in LIGHT.items():
            text = re.sub(rf": {colour}\b", f": {variable(name)}", text)
        return re.sub(r'font-family: [^;"]*', "font-family: inherit", text)

    @cached_property
    def png(self) -> bytes:
        """The figure as a PNG, for slides."""
        return self._saved("png", dpi=160, metadata={"Software": None})

    def _tree(self) -> ElementTree.Element:
        """The drawing with titles, and with names that are its own on a page of several."""
        _register()
        root = ElementTree.fromstring(self._raw)
        for metadata in root.findall(f"{{{_SVG}}}metadata"):
            root.remove(metadata)
        for element in root.iter():
            _rename(element, self.name)
            element.tail = None
        for key, hover in self.hovers.items():
            group = root.find(f".//*[@id='{self.name}-{key}']")
            if group is not None:
                group.insert(0, _element("title", hover))
        _describe(root, self.name, self.title, self.alt)
        return root

    @cached_property
    def _raw(self) -> bytes:
        return self._saved("svg", metadata={"Date": None})

    def _saved(self, kind: str, **options: Any) -> bytes:
        target = io.BytesIO()
        with styled(), rc_context({"svg.hashsalt": self.name}):
            self.figure.savefig(target, format=kind, **options)
            self.figure.set_layout_engine(None)  # what was placed stays: the next file is quicker
        return target.getvalue()


def _register() -> None:
    """Plain names instead of ns0:svg; the registry is the module's only way to say so."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)


def _element(tag: str, text: str, **attributes: str) -> ElementTree.Element:
    element = ElementTree.Element(f"{{{_SVG}}}{tag}", attributes)
    element.text = printable(" ".join(text.split()))  # XML cannot hold control characters
    return element


def _rename(element: ElementTree.Element, prefix: str) -> None:
    """Names of parts, and what refers to them."""
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{prefix}-{value}")
        elif key == f"{{{_LINK}}}href":
            element.set(key, f"#{prefix}-{value.removeprefix('#')}")
        elif value.startswith("url(#"):
            element.set(key, value.replace("url(#", f"url(#{prefix}-"))


def _describe(root: ElementTree.Element, name: str, title: str, alt: str) -> None:
    heading, words = f"{name}-title", f"{name}-words"
    root.set("role", "img")
    root.set("aria-labelledby", f"{heading} {words}")
    root.insert(0, _element("title", title, id=heading))
    root.insert(1, _element("desc", alt, id=words))


def shortened(text: str, most: int = 46) -> str:
    """The text for a label in a figure, cut where it is long.

    >>> shortened("weights, Gaussian", most=10)
    'weights, …'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"

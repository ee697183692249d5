"""What a row was run on, where that is not what the paper had.

Read from the specification in the committed file, so that a row says the size that was run: other
data in the place of the paper's, and the reason why there are no more of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

STAND_INS: Final[Mapping[str, str]] = {
    "digits": "{} of the 1,797 digits that come with a package",
    "mnist5k": "{} of MNIST's 5,000 images that come with a package",
    "shoppers": "{} other shoppers, of 9,097 in all",
    "hospital": "{} New York hospital stays",
    "trec": "{} questions of TREC, of 5,952 in all",
}
"""By the beginning of a data set's name; any other is the paper's own."""
_Spec = Mapping[str, Any]


def run_on(documents: Sequence[Mapping[str, Any] | None], on: str | None = None) -> str:
    """Stand-ins and smaller sizes of committed files, each with its reason; empty without any.

    Args:
        documents: The files, as ``reproduce --out`` writes them.
        on: The one data set of them that is asked for; without it, all.
    """
    parts = [
        part
        for document in documents
        for spec in (document or {}).get("specifications", ())
        for part in _parts(spec)
        if on in (None, part["on"])
    ]
    said = dict.fromkeys(words for part in parts for words in _said(part))
    others = {part["on"] for part in parts if not list(_said(part))}
    return "; ".join(said) + (", among other data" if said and others else "")


def _parts(spec: _Spec) -> Iterator[_Spec]:
    """What is said of each data set of a specification."""
    inner = spec.get("data") or spec.get("encoders") or spec
    for part in inner if isinstance(inner, list) else [inner]:
        if "on" in part:
            yield part


def _said(part: _Spec) -> Iterator[str]:
    size = part.get("members") or part.get("records") or part.get("sizes", {}).get("private")
    training = part.get("training")
    if size is None:
        return
    if training is not None:  # contrastive: the paper has whole images, and 39,062 steps or more
        yield f"{size:,} images of {training['shape']}, {training['steps']:,} steps"
    for beginning, words in STAND_INS.items():
        if part["on"].startswith(beginning):
            yield words.format(f"{size:,}")

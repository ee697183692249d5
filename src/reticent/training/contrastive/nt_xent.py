"""NT-Xent, the loss of SimCLR (Chen et al. 2020, eq. 1): find the other view of the same image.

Every view is compared with all views of the batch: the loss is coupled, and clipping the gradients
of its terms does not bound what one image does to their sum.

The terms of ``public_negative_terms`` and ``released_embedding_terms`` are each a function of one
record and of numbers that are public or released: clipping their gradients bounds what a record
does (docs/theory.md E.10).
"""

from typing import Final

from reticent.training.encoders.torch_extra import functional, torch
from reticent.validation import InputError, positive

FEWEST: Final = 2
"""Images in a batch: one alone has nothing to be told from."""


def nt_xent(first: torch.Tensor, second: torch.Tensor, *, temperature: float) -> torch.Tensor:
    """The mean over all 2n views of −log softmax of the cosine to the other view of that image.

    The candidates of a view are the 2n − 1 other views. (The Keras example takes only the n views
    of the other side.) Two images at least: with one there is nothing to tell apart.

    >>> round(float(nt_xent(torch.eye(2), torch.eye(2), temperature=1.0)), 4)  # ln(1 + 2/e)
    0.5514
    """
    return nt_xent_terms(first, second, temperature=temperature).mean()


def nt_xent_terms(
    first: torch.Tensor,
    second: torch.Tensor,
    *,
    temperature: float,
    noise: torch.Tensor | None = None,
) -> torch.Tensor:
    """The 2n terms of the loss; with ``noise`` (2n, 2n) on the cosines, as DPCL adds it."""
    cosines = _cosines(first, second)
    noisy = cosines if noise is None else cosines + noise
    scaled = noisy / positive("temperature", temperature)
    return functional.cross_entropy(scaled, _other_view(len(first)), reduction="none")


def contrastive_accuracy(first: torch.Tensor, second: torch.Tensor) -> float:
    """The share of views whose nearest other view is of the same image."""
    nearest = _cosines(first.detach(), second.detach()).argmax(dim=1)
    return float((nearest == _other_view(len(first))).float().mean())


def _cosines(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """(2n, 2n), with −∞ where a view meets itself."""
    check_views(first, second)
    directions = functional.normalize(torch.cat([first, second]), dim=1)
    itself = torch.eye(len(directions), dtype=torch.bool, device=directions.device)
    return (directions @ directions.T).masked_fill(itself, -torch.inf)


def check_views(first: torch.Tensor, second: torch.Tensor) -> None:
    """Two batches of embeddings of one shape, of at least two images."""
    if first.ndim != 2 or first.shape != second.shape or len(first) < FEWEST:
        raise InputError(
            "views must be two tensors of one shape (n, d) with n >= 2,"
            f" got {tuple(first.shape)} and {tuple(second.shape)}"
        )


def _other_view(images: int) -> torch.Tensor:
    return torch.arange(2 * images).roll(images)


def public_negative_terms(
    first: torch.Tensor, second: torch.Tensor, negatives: torch.Tensor, *, temperature: float
) -> torch.Tensor:
    """A record told from public images: Σ over both views of −log softmax of the cosine.

    One number a record: its other view is the only positive, and no private record a negative.
    ``first`` and ``second`` are (n, k) embeddings, ``negatives`` (m, k) public ones, which are not
    differentiated. All are scaled to norm 1.

    >>> own, other = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> term = public_negative_terms(own, own, other, temperature=1.0)
    >>> round(float(term), 4)  # 2·ln(1 + 1/e)
    0.6265
    """
    scale = 1 / positive("temperature", temperature)
    one, two, public = (functional.normalize(part, dim=1) for part in (first, second, negatives))
    public = public.detach()
    same = (one * two).sum(dim=1, keepdim=True)
    terms = torch.zeros(len(first), dtype=first.dtype)
    for view in (one, two):
        logits = torch.cat([same, view @ public.T], dim=1) * scale
        terms = terms + torch.logsumexp(logits, dim=1) - logits[:, 0]
    return terms


def released_embedding_terms(
    pairs: torch.Tensor, places: torch.Tensor, released: torch.Tensor, *, temperature: float
) -> torch.Tensor:
    """A record told from noisy views of the others: Σ over both views of −log softmax.

    One number a record: its own views are exact, those of the others were released before.
    ``pairs`` are (n, 2, k) embeddings, ``places`` where these records stand in the batch, and
    ``released`` (2m, k) the noisy embeddings of all of its m records, two rows each: those at a
    record's own place are no candidates. All are scaled to norm 1.

    >>> pairs = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    >>> others = torch.tensor([[9.0, 9.0], [9.0, 9.0], [0.0, 1.0], [0.0, 1.0]])
    >>> term = released_embedding_terms(pairs, torch.tensor([0]), others, temperature=1.0)
    >>> round(float(term), 4)  # 2·ln(1 + 2/e)
    1.1029
    """
    scale = 1 / positive("temperature", temperature)
    one, two = (functional.normalize(pairs[:, view], dim=1) for view in (0, 1))
    public = functional.normalize(released.to(pairs.dtype), dim=1).detach()
    columns = torch.arange(len(public)) // 2
    own = columns[None] == places[:, None]
    same = (one * two).sum(dim=1, keepdim=True)
    terms = torch.zeros(len(pairs), dtype=pairs.dtype)
    for view in (one, two):
        others = (view @ public.T).masked_fill(own, -torch.inf)
        logits = torch.cat([same, others], dim=1) * scale
        terms = terms + torch.logsumexp(logits, dim=1) - logits[:, 0]
    return terms

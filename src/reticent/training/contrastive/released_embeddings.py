"""NT-Xent against noisy embeddings of a batch: what couples images was released before.

A record's own two views are exact, the views of all others noisy and not differentiated. So the
loss is a function of one record, of its place in the batch and of what was released
(docs/theory.md E.10).
"""

from reticent.training.encoders.torch_extra import functional, torch
from reticent.validation import positive


def released_embedding_terms(
    pairs: torch.Tensor, places: torch.Tensor, released: torch.Tensor, *, temperature: float
) -> torch.Tensor:
    """Σ over both views of −log softmax of the cosine to the other view, one number a record.

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
    found = torch.zeros(len(pairs), dtype=pairs.dtype)
    for view in (one, two):
        others = (view @ public.T).masked_fill(own, -torch.inf)
        logits = torch.cat([same, others], dim=1) * scale
        found = found + torch.logsumexp(logits, dim=1) - logits[:, 0]
    return found

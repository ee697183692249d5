"""NT-Xent against public images: a record is told from them, and from no other private record.

The other view of the record is the only positive, embeddings of public images are the negatives. So
the loss is a function of one record and of public numbers, and clipping its gradient bounds what
the record does (docs/theory.md E.10).
"""

from reticent.training.encoders.torch_extra import functional, torch
from reticent.validation import positive


def public_negative_terms(
    first: torch.Tensor, second: torch.Tensor, negatives: torch.Tensor, *, temperature: float
) -> torch.Tensor:
    """Σ over both views of −log softmax of the cosine to the other view, one number a record.

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
    found = torch.zeros(len(first), dtype=first.dtype)
    for view in (one, two):
        logits = torch.cat([same, view @ public.T], dim=1) * scale
        found = found + torch.logsumexp(logits, dim=1) - logits[:, 0]
    return found

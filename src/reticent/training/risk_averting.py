"""The risk-averting loss (1/α)·ln mean exp(α·loss), of one batch, without overflow.

Lo, Gui & Peng (2012) and Dvijotham, Fazel & Todorov (2014); Lu et al., Eq. 22, call it convexified.
It lies between the mean (α → 0) and the largest loss (α → ∞) of the records, and its gradient is
that of the records weighted by softmax(α·loss). For a network it is convex at no α
(``reticent reproduce lu verdicts``).
"""

import math
from typing import Any

import torch


def risk_averting(losses: Any, risk: float) -> Any:
    """(1/α)·ln mean exp(α·loss) over the first axis; at least one loss is needed.

    >>> round(float(risk_averting(torch.tensor([0.0, 2.0]), 1e-3)), 2)
    1.0
    >>> round(float(risk_averting(torch.tensor([0.0, 1e4]), 1.0)))
    9999
    """
    return (torch.logsumexp(risk * losses, dim=0) - math.log(len(losses))) / risk


def tilted(shares: Any, losses: Any, risk: float) -> Any:
    """What each record counts in the gradient: shares·e^{α·loss}, made to add up to 1 in each row.

    A record without a share keeps none; a row without any share stays 0.

    >>> tilted(torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.0, 1e4, 9e9]]), 1.0).tolist()
    [[0.0, 1.0, 0.0]]
    """
    weights = torch.softmax(torch.log(shares) + risk * losses, dim=-1)
    return torch.where((shares > 0).any(dim=-1, keepdim=True), weights, 0.0)

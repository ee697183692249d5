"""Lu et al., a differentially private framework with convexified loss functions, as published."""

from reticent.studies.lu.items import ITEMS, TRAINED

__all__ = ["ITEMS", "TRAINED"]

"""What every part of the document is: fixed once made, without unknown fields, NaN or infinity."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen part of ``results.json``."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

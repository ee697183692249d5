"""Predictions over HTTP: released models without limit, protected answers under a budget.

FastAPI and uvicorn (``pip install 'reticent[service]'``) are loaded with the first use.
"""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.service.asgi import application
    from reticent.service.models import Model, ProtectedModel, ReleasedModel
    from reticent.service.serving import ServeSpec, serve

__all__ = ["Model", "ProtectedModel", "ReleasedModel", "ServeSpec", "application", "serve"]

__getattr__ = lazy_exports(__name__)

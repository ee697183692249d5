"""The operator's page: one file without other assets, which shows nothing before it has a key.

The page itself holds no number. What it shows it asks for with the admin's key, which stays in the
page's memory: there is no cookie, so no other site can act in the operator's name.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from starlette.responses import Response


@cache
def _document() -> tuple[bytes, str]:
    content = files("reticent.service").joinpath("page.html").read_text(encoding="utf-8")
    sources = {}
    for tag in ("script", "style"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", content, re.DOTALL)
        assert inside is not None
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        sources[tag] = f"{tag}-src 'sha256-{digest}'"
    policy = "; ".join(
        (
            "default-src 'none'", *sources.values(), "connect-src 'self'", "base-uri 'none'",
            "form-action 'none'", "frame-ancestors 'none'",
        )
    )  # fmt: skip
    return content.encode(), policy


def operators_page() -> Response:
    """The page, with a policy that lets nothing else in."""
    content, policy = _document()
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")

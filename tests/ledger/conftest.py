"""Both databases: a SQLite file, and a PostgreSQL server that the tests start."""

import pytest

from tools.postgres_server import postgres


@pytest.fixture(scope="session")
def server():
    with postgres() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """An empty place for a ledger in either database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return request.getfixturevalue("server").fresh()

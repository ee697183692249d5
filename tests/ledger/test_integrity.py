"""Whatever is flipped, edited, deleted or put back is found."""

import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from reticent.guarantee import GaussianEvent, LaplaceEvent
from reticent.ledger import Ledger, LedgerError, verify_ledger
from reticent.ledger.checking import quick_problems
from reticent.ledger.tables import METADATA
from reticent.ledger.witness import Witness

TERMS = {"relation": "add-remove", "purpose": "a mean"}
EVENTS = (LaplaceEvent(noise_multiplier=8.0), GaussianEvent(noise_multiplier=20.0))
WRITTEN = [name for name in METADATA.tables if name not in ("replies", "clients", "api_keys")]


def fill(where):
    """Two accounts, two kinds, budgets between the charges, keys; closed and so in one file."""
    with Ledger.open(where, create=True) as ledger:
        for name, epsilon in (("survey", 3.0), ("census", 2.0)):
            ledger.set_budget(
                name, epsilon=epsilon, delta=1e-6, relation="add-remove", filter="rdp"
            )
            for number in range(4):
                ledger.charge(name, EVENTS[number % 2], key=f"key {number}", **TERMS)
            ledger.set_budget(name, epsilon=epsilon + 1, delta=1e-6, relation="add-remove")
        ledger.charge("survey", EVENTS[0], **TERMS)


def outcome(where):
    """What ``verify_ledger`` finds; a ledger that cannot be opened counts as found."""
    try:
        return verify_ledger(where)
    except LedgerError as refusal:
        return [str(refusal)]


def rows_of(path):
    connection = sqlite3.connect(path)
    try:
        return {
            name: connection.execute(
                f"SELECT {', '.join(table.c.keys())} FROM {name} ORDER BY 1, 2"
            ).fetchall()
            for name, table in METADATA.tables.items()
            if name in WRITTEN
        }
    finally:
        connection.close()


def test_a_sound_ledger_has_no_problems(where):
    fill(where)
    assert verify_ledger(where) == []
    Ledger.open(where).close()


@pytest.mark.slow
def test_no_flipped_bit_changes_what_the_file_says_unseen(tmp_path):
    path = tmp_path / "ledger.sqlite"
    fill(path)
    content, said = path.read_bytes(), rows_of(path)
    chosen = random.Random(18)
    used = [at for at, byte in enumerate(content) if byte != 0]
    places = chosen.sample(used, 300) + chosen.sample(range(len(content)), 60)
    found = 0
    for at in places:
        damaged = bytearray(content)
        damaged[at] ^= 1 << chosen.randrange(8)
        for beside in ("-wal", "-shm"):
            Path(f"{path}{beside}").unlink(missing_ok=True)
        path.write_bytes(damaged)
        if outcome(path):
            found += 1
        else:
            assert rows_of(path) == said, f"byte {at} was not found"
    assert found > 200


def editor(where, request):
    """A connection that can edit everything, with no keys in its way."""
    if "://" not in where:
        return sa.create_engine(f"sqlite:///{where}", poolclass=sa.NullPool)
    database = sa.make_url(where).database
    address = sa.make_url(request.getfixturevalue("server").address)
    url = address.set(drivername="postgresql+psycopg", database=database)
    options = {"options": "-c session_replication_role=replica"}
    return sa.create_engine(url, connect_args=options, poolclass=sa.NullPool)


def other(value):
    """Another value of the same type."""
    if value is None:
        return b"x"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    return value + "x"


@pytest.mark.slow
def test_every_edited_value_and_deleted_row_is_found(where, request):
    """All rows of the file; on the server, whose connections take longer, one row of each table."""
    fill(where)
    engine = editor(where, request)
    tried = 0
    for name in WRITTEN:
        table = METADATA.tables[name]
        keys = [column.name for column in table.primary_key]
        with engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(table.select()).mappings()]
        for row in rows if engine.dialect.name == "sqlite" else rows[-1:]:
            here = sa.and_(*(table.c[key] == row[key] for key in keys))
            _try(engine, table.delete().where(here), table.insert().values(row), where, name)
            for column in row:
                value = row[column]
                if column in ("event", "budget") and name != "entries" and value is None:
                    value = ""
                changed = {**row, column: _other_of(table.c[column], value)}
                there = sa.and_(*(table.c[key] == changed[key] for key in keys))
                edit = table.update().where(here).values({column: changed[column]})
                back = table.update().where(there).values({column: row[column]})
                _try(engine, edit, back, where, f"{name}.{column}")
                tried += 1
    assert tried > (150 if engine.dialect.name == "sqlite" else 40)
    assert verify_ledger(where) == []


def _other_of(column, value):
    if value is None:
        return b"x" if isinstance(column.type, sa.LargeBinary) else "x"
    return other(value)


def _try(engine, edit, back, where, what):
    try:
        with engine.begin() as connection:
            connection.execute(edit)
    except sa.exc.IntegrityError:  # the database itself refuses it
        return
    assert outcome(where), f"{what} was not found"
    with engine.begin() as connection:
        connection.execute(back)


def test_what_is_edited_in_an_account_is_found_at_opening(tmp_path):
    path = tmp_path / "ledger.sqlite"
    fill(path)
    content = path.read_bytes()
    edits = {
        "UPDATE accounts SET spent = zeroblob(length(spent))": "its sums are not those of its",
        "UPDATE accounts SET charges = charges - 1": "links were written",
        "UPDATE accounts SET seq = seq - 1, charges = charges - 1": "another copy",
        "UPDATE accounts SET budget = replace(budget, '4.0', '9.0')": "not the one that was set",
        "UPDATE event_counts SET n = n - 1 WHERE n > 1": "links were written",
        "DELETE FROM entries WHERE seq = 7": "its last link is not the one",
        "UPDATE entries SET purpose = 'other' WHERE seq = 7": "its last link is not the one",
        "UPDATE events SET costs = replace(costs, '0.125', '0.025')": "must be as written",
        "DELETE FROM accounts WHERE name = 'census'": "another copy: account number",
    }
    for statement, message in edits.items():
        path.write_bytes(content)
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()
        with pytest.raises(LedgerError, match=message):
            Ledger.open(path)


def test_a_restored_copy_is_refused_until_it_is_accepted(tmp_path):
    path, copy = tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite"
    fill(path)
    shutil.copyfile(path, copy)
    with Ledger.open(path) as ledger:
        for _ in range(3):
            ledger.charge("survey", EVENTS[0], **TERMS)
    os.replace(copy, path)
    message = r"another copy: account 'survey' has 7 links, and lacks one of the 10 .* --accept-res"
    with pytest.raises(LedgerError, match=message):
        Ledger.open(path)
    (found,) = verify_ledger(path)
    assert "--accept-restored" in found
    with pytest.raises(LedgerError, match=message):
        Ledger.open(path, create=True)
    assert verify_ledger(path, accept_restored=True) == []
    with Ledger.open(path) as ledger:
        last = ledger.budget_changes("survey")[-1]
        assert last.note == "a restored copy was accepted: 7 links of 10 that were seen"
        assert last.budget == ledger.account("survey").budget
        assert [change.note for change in ledger.budget_changes("census")] == ["", ""]
        ledger.charge("survey", EVENTS[0], **TERMS)
    assert verify_ledger(path) == []


def test_a_restored_copy_that_was_charged_elsewhere_is_refused(tmp_path):
    """As many links as were seen, or more, but others."""
    path, copy = tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite"
    fill(path)
    shutil.copyfile(path, copy)
    with Ledger.open(path) as ledger:
        ledger.charge("survey", EVENTS[0], **TERMS)
        identity = ledger._storage.identity
    witness = Witness.of(identity).path
    seen = witness.read_bytes()
    witness.unlink()
    with Ledger.open(copy) as elsewhere:
        assert elsewhere.first_seen
        for _ in range(3):
            elsewhere.charge("survey", EVENTS[1], **TERMS)
    witness.write_bytes(seen)
    with pytest.raises(LedgerError, match="another copy: account 'survey' has 10 links"):
        Ledger.open(copy)


def test_a_copy_that_is_put_back_under_an_open_ledger_is_refused(tmp_path):
    path, copy = tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite"
    fill(path)
    shutil.copyfile(path, copy)
    with Ledger.open(path) as ledger:
        ledger.charge("survey", EVENTS[0], **TERMS)
        for beside in ("-wal", "-shm"):
            Path(f"{path}{beside}").unlink()
        os.replace(copy, path)
        with pytest.raises(LedgerError, match="older copy with 7 links of 8"):
            ledger.charge("survey", EVENTS[0], **TERMS)


def test_a_restored_database_of_a_server_is_refused(server):
    where = server.fresh()
    fill(where)
    name = sa.make_url(where).database
    server.run(f"CREATE DATABASE {name}_copy TEMPLATE {name}")
    with Ledger.open(where) as ledger:
        ledger.charge("survey", EVENTS[0], **TERMS)
    server.run(f"DROP DATABASE {name}", f"ALTER DATABASE {name}_copy RENAME TO {name}")
    with pytest.raises(LedgerError, match="another copy: account 'survey' has 7 links"):
        Ledger.open(where)
    assert verify_ledger(where, accept_restored=True) == []
    Ledger.open(where).close()


def test_a_damaged_copy_is_not_accepted(tmp_path):
    path = tmp_path / "ledger.sqlite"
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET purpose = 'other' WHERE seq = 3")
    connection.commit()
    connection.close()
    found = verify_ledger(path, accept_restored=True)
    assert found == [
        "account 'survey': link 3 is not the one that was written",
        "account 'census': link 3 is not the one that was written",
    ]


def test_the_witness_is_outside_of_the_ledgers_folder_and_damage_to_it_is_seen(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("RETICENT_WITNESS")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "books").mkdir()
    path = tmp_path / "books" / "ledger.sqlite"
    fill(path)
    assert [one.name for one in path.parent.iterdir()] == ["ledger.sqlite"]
    (witness,) = (tmp_path / "state" / "reticent" / "witness").iterdir()
    content = bytearray(witness.read_bytes())
    content[-20] ^= 1
    witness.write_bytes(content)
    with pytest.raises(LedgerError, match=r"witness .* must be as written, got a damaged line 2"):
        Ledger.open(path)
    assert "damaged line 2" in verify_ledger(path)[0]
    assert verify_ledger(path, accept_restored=True) == []
    witness.unlink()
    with Ledger.open(path) as ledger:
        assert ledger.first_seen
        witness.unlink()
        ledger.charge("survey", EVENTS[0], **TERMS)  # made anew
    assert witness.exists()
    monkeypatch.setenv("RETICENT_WITNESS", str(path))  # a file, where a folder should be
    with pytest.raises(LedgerError, match=r"witness .* must be .*, got"):
        Ledger.open(path)


def test_a_lagging_witness_never_goes_back(tmp_path):
    path = tmp_path / "ledger.sqlite"
    fill(path)
    with Ledger.open(path) as ledger:
        witness = ledger._witness
    seen = witness.seen()
    witness.advance({1: (2, bytes(32))})
    assert witness.seen() == seen


def test_opening_walks_no_entries(tmp_path):
    """However many there are: each statement finds its rows by a key."""
    path = str(tmp_path / "ledger.sqlite")
    fill(path)
    asked = []
    with sa.create_engine(f"sqlite:///{path}").connect() as connection:
        sa.event.listen(
            connection, "before_cursor_execute", lambda *said: asked.append(said[2:4]), named=False
        )
        assert quick_problems(connection) == []
        plans = [
            str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all())
            for statement, values in list(asked)
        ]
    assert any("SEARCH entries" in plan for plan in plans)
    assert not any("SCAN entries" in plan for plan in plans)

"""Protected answers over HTTP: charged once, told apart, never another's."""

import json
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.ledger import LedgerError, verify_ledger
from reticent.mechanisms.rounded.grid import default_grid
from reticent.protect.answers.served import ServedAnswers
from reticent.service.client import Service, ServiceError
from reticent.training.softmax import zero_sum_basis
from tests.service.conftest import DATA_SET, rows

SECOND = 1_000_000


def refused(call, *arguments, **options):
    with pytest.raises(ServiceError) as error:
        call(*arguments, **options)
    return error.value.type, error.value.status


def test_an_answer_is_charged_once_and_has_a_receipt(protected, where):
    service = protected(where)
    alice = service.client("alice", limit=20)
    first = alice.ask(rows(3), idempotency_key="k")
    assert (first["charged"], first["left"], first["replayed"]) == (3, 17, False)
    assert first["each"]["grade"] == "proven"
    again = alice.ask(rows(3), idempotency_key="k")
    assert again["labels"] == first["labels"]
    assert again["receipt"] == first["receipt"]
    assert (again["charged"], again["left"], again["replayed"]) == (0, 17, True)
    entry = service.ledger.entries(DATA_SET)[-1]
    assert first["receipt"]["number"] == entry.seq
    assert service.ledger.account(DATA_SET).charges == 1
    assert verify_ledger(where) == []


def test_a_key_with_other_rows_is_refused(protected, where):
    alice = protected(where).client("alice")
    alice.ask(rows(1), idempotency_key="k")
    assert refused(alice.ask, rows(2), idempotency_key="k") == ("key-reused", 409)
    assert alice.budget()["used"] == 1


def test_rows_that_were_answered_cost_nothing_again(protected, where):
    """Also within a request, and in another order; with a key such a request is kept too."""
    service = protected(where, mechanism="gaussian")
    alice = service.client("alice")
    five = rows(5)
    first = alice.ask(five)
    mixed = alice.ask(np.concatenate([five[::-1], rows(1, seed=1), rows(1, seed=1)]))
    assert mixed["charged"] == 1
    assert mixed["logits"][:5] == first["logits"][::-1]
    assert mixed["logits"][5] == mixed["logits"][6]
    free = alice.ask(five[:2], idempotency_key="free")
    assert (free["charged"], free["logits"]) == (0, first["logits"][:2])
    assert refused(alice.ask, five[:3], idempotency_key="free") == ("key-reused", 409)
    assert alice.budget() == {"used": 6, "limit": None, "left": None}
    assert verify_ledger(where) == []


def test_replies_end_and_their_keys_are_never_charged_again(protected, where):
    service = protected(where, keep=SECOND // 5)
    alice = service.client("alice")
    first = alice.ask(rows(1), idempotency_key="k")
    time.sleep(0.25)
    assert refused(alice.ask, rows(1), idempotency_key="k") == ("reply-gone", 410)
    assert alice.budget()["used"] == 1
    # Without the key the row is new again, also before the old reply is removed.
    anew = alice.call("POST", "/v1/answers", json.dumps({"inputs": rows(1).tolist()}).encode())
    assert (anew["charged"], anew["receipt"]["number"]) == (1, first["receipt"]["number"] + 1)
    time.sleep(0.25)
    assert service.served.book.purge() == 2
    assert refused(alice.ask, rows(1), idempotency_key="k") == ("reply-gone", 410)
    assert alice.budget()["used"] == 2


def test_limits_of_a_client_and_of_all(protected, where):
    service = protected(where, queries=10)
    alice, bob = service.client("alice", limit=4), service.client("bob")
    assert refused(alice.ask, rows(5)) == ("budget-exhausted", 429)
    assert alice.ask(rows(4))["left"] == 0
    assert refused(alice.ask, rows(1, seed=3)) == ("budget-exhausted", 429)
    assert bob.budget(6)["fits"] is True
    assert bob.budget(7)["fits"] is False
    assert refused(bob.ask, rows(7)) == ("budget-exhausted", 429)
    assert bob.ask(rows(6))["charged"] == 6
    assert refused(bob.ask, rows(1, seed=3)) == ("budget-exhausted", 429)
    assert alice.ask(rows(4))["charged"] == 0  # what was answered stays answered
    used = {one.name: one.used for one in service.served.book.own_clients()}
    assert used == {"alice": 4, "bob": 6}
    assert [answers for _, answers in service.served.book.by_hour()] in ([10], [4, 6])


def test_the_same_row_is_drawn_anew_for_another_client(protected, where):
    service = protected(where, mechanism="gaussian")
    alice, bob = service.client("alice"), service.client("bob")
    key = {"idempotency_key": "the-same"}
    one, other = alice.ask(rows(3), **key), bob.ask(rows(3), **key)
    assert (other["charged"], other["replayed"]) == (3, False)
    # Two of nine pairs of rows meet in both coordinates with a chance below 9·(7e-5)² < 1e-7.
    assert not set(map(tuple, one["logits"])) & set(map(tuple, other["logits"]))


def test_released_model_and_answers_agree_on_the_protocol(protected, where):
    service = protected(where, mechanism="gaussian")
    alice = service.client("alice", scopes=("ask", "read", "admin"))
    body = {
        "id": "q-1",
        "inputs": [
            {"name": "input", "datatype": "FP64", "shape": [2, 5], "data": rows(2).tolist()}
        ],
        "outputs": [{"name": "logits"}],
    }
    found = alice.call("POST", "/v2/models/model/infer", json.dumps(body).encode())
    assert (found["id"], found["model_name"]) == ("q-1", "model")
    (logits,) = found["outputs"]
    assert (logits["name"], logits["datatype"], logits["shape"]) == ("logits", "FP64", [2, 3])
    native = alice.ask(rows(2))
    assert np.ravel(native["logits"]).tolist() == logits["data"]
    assert found["parameters"]["charged"] == 2
    document = alice.call("GET", "/v2/models/model")
    assert document["inputs"][0]["shape"] == [-1, 5]
    assert alice.call("GET", "/v2/health/live") == {"live": True}
    assert "/v1/answers" in alice.call("GET", "/openapi.json")["paths"]
    assert alice.guarantee()["guarantee"]["grade"] == "proven"
    assert alice.certificate()["answers"]["queries"] == 50


def test_keys_and_scopes(protected, where):
    service = protected(where)
    asks = service.client("asks", scopes=("ask",))
    reads = service.client("reads", scopes=("read",))
    assert refused(Service(service.url).ask, rows(1)) == ("unauthorized", 401)
    assert refused(Service(service.url, "reticent_wrong").ask, rows(1)) == ("unauthorized", 401)
    assert refused(reads.ask, rows(1)) == ("forbidden", 403)
    assert refused(asks.budget) == ("forbidden", 403)
    assert refused(asks.call, "GET", "/openapi.json") == ("forbidden", 403)
    service.clients.add("of no data set", data_set=None, limit=None)
    stranger, _ = service.clients.new_key("of no data set", scopes=("ask",))
    time.sleep(0.6)
    assert refused(Service(service.url, stranger).ask, rows(1)) == ("unauthorized", 401)
    short = service.client("short", days=1e-9)
    assert refused(short.ask, rows(1)) == ("unauthorized", 401)


def test_a_revoked_key_is_refused_within_a_second(protected, where):
    service = protected(where)
    alice = service.client("alice")
    alice.ask(rows(1))
    service.clients.revoke(alice._key)
    until = time.monotonic() + 1.0
    while time.monotonic() < until - 0.05:
        time.sleep(0.05)
    assert refused(alice.ask, rows(1)) == ("unauthorized", 401)


def test_rate_limit_is_told_apart_from_the_budget(protected, tmp_path):
    service = protected(str(tmp_path / "l.sqlite"), rate=0.01)
    alice = service.client("alice")
    alice.ask(rows(1))
    assert refused(alice.ask, rows(1)) == ("rate-limit", 429)
    assert service.ledger.account(DATA_SET).charges == 1


def test_a_changed_budget_makes_it_not_ready(protected, where, caplog):
    service = protected(where)
    alice = service.client("alice")
    alice.ask(rows(1))
    service.ledger.set_budget(
        DATA_SET, epsilon=9.0, delta=1e-5, relation="add-remove", filter="zcdp"
    )
    with pytest.raises(LedgerError, match="must be the one that the answers were planned for"):
        service.served.ask(1, rows(1, seed=9)).result()  # also where it was not seen yet
    time.sleep(0.6)
    assert refused(Service(service.url).call, "GET", "/v2/health/ready") == ("not-ready", 503)
    alice_once = Service(service.url, alice._key)
    body = b'{"inputs": [[0, 0, 0, 0, 1]]}'
    assert refused(alice_once.call, "POST", "/v1/answers", body) == ("not-ready", 503)
    assert service.ledger.account(DATA_SET).charges == 1
    told = [line for line in caplog.messages if line.startswith("not ready: ")]
    assert len(told) == 1, told  # the operator is told why, and once
    assert "budget of 'patients' must be" in told[0]


def test_a_restored_database_is_not_ready(protected, tmp_path):
    import shutil
    import sqlite3

    path = tmp_path / "l.sqlite"
    service = protected(str(path))
    alice = service.client("alice")
    alice.ask(rows(1))
    copy = sqlite3.connect(tmp_path / "copy.sqlite")
    with copy:
        sqlite3.connect(path).backup(copy)
    copy.close()
    alice.ask(rows(1, seed=1))
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "copy.sqlite", tmp_path / "old.sqlite")
    (tmp_path / "old.sqlite").replace(path)
    time.sleep(0.6)
    assert refused(Service(service.url).call, "GET", "/v2/health/ready") == ("not-ready", 503)
    body = b'{"inputs": [[0, 0, 0, 0, 1]]}'
    assert refused(alice.call, "POST", "/v1/answers", body) == ("not-ready", 503)


EIGHT = 8


def told_at_once(service):
    """What eight clients are told who ask the same rows under the same keys, by client and turn."""
    clients = [service.client(f"client {number}") for number in range(EIGHT)]
    told = {}

    def ask(number):
        for turn in range(6):
            told[number, turn] = clients[number].ask(
                rows(2, seed=turn), idempotency_key=f"k-{turn}"
            )

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(EIGHT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients, told


def repeated_coordinates(service, told):
    """How often two clients have the same coordinate of an answer to the same row.

    The most over coordinates and over the seven ways to put eight clients into pairs, as in a
    tournament: within one way all comparisons are independent, 4 pairs · 12 rows of them. Two draws
    of N(v, σ²) meet on a grid of σ/r, r ≥ 2¹², with a chance of 1/(2r√π) < 7e-5 at most. So 3 or
    more of 48 have a chance below C(48, 3)·(7e-5)³ < 6e-9, and all 2 · 7 counts below 1e-7.
    """
    basis = zero_sum_basis(3)
    step = default_grid(service.plan.scale)
    cells = np.rint(
        [
            np.concatenate([told[number, turn]["logits"] for turn in range(6)]) @ basis / step
            for number in range(EIGHT)
        ]
    )
    most = 0
    for turn in range(EIGHT - 1):
        circle = [EIGHT - 1, *np.roll(np.arange(EIGHT - 1), turn)]
        pairs = [(circle[place], circle[-place - 1]) for place in range(EIGHT // 2)]
        same = sum(cells[one] == cells[other] for one, other in pairs)
        most = max(most, int(same.sum(axis=0).max()))
    return most


def test_noise_that_repeats_in_one_coordinate_is_found(protected, tmp_path, monkeypatch):
    """The count of the next test, on an implementation whose first coordinate has one noise."""
    drawn = ServedAnswers._drawn

    def repeating(self, due):
        values = self._answers._values(np.stack([rows[place] for rows, place in due]))
        found = np.frombuffer(b"".join(drawn(self, due)), "<f8").reshape(len(due), -1).copy()
        step = default_grid(self.plan.scale)
        found[:, 0] = np.rint(values[:, 0] / step) * step
        return [row.tobytes() for row in found]

    monkeypatch.setattr(ServedAnswers, "_drawn", repeating)
    service = protected(str(tmp_path / "l.sqlite"), queries=500, mechanism="gaussian")
    assert repeated_coordinates(service, told_at_once(service)[1]) == 48


def test_many_threads_share_transactions_and_nothing_else(protected, where):
    """Eight clients at once, the same keys and rows: each has its own answers and numbers."""
    service = protected(where, queries=500, mechanism="gaussian")
    clients, told = told_at_once(service)
    assert repeated_coordinates(service, told) < 3
    numbers = [one["receipt"]["number"] for one in told.values()]
    assert len(set(numbers)) == len(numbers) == 48
    assert all(one.budget()["used"] == 12 for one in clients)
    assert verify_ledger(where) == []


@pytest.mark.slow
def test_no_client_ever_sees_anothers_answer(protected, tmp_path):
    """Any sequence of requests from three clients that share rows and keys.

    Of 3 · 6 · 6 pairs of rows one meets in both coordinates with a chance below 108·(7e-5)² < 6e-7.
    """
    service = protected(str(tmp_path / "l.sqlite"), queries=100_000, mechanism="gaussian")
    clients = [service.client(name) for name in ("a", "b", "c")]
    seen = [set(), set(), set()]
    numbers = [set(), set(), set()]
    step = st.tuples(
        st.integers(0, 2), st.lists(st.integers(0, 5), min_size=1, max_size=3), st.integers(0, 3)
    )

    @settings(max_examples=25)
    @given(st.lists(step, min_size=1, max_size=6))
    def check(steps):
        for who, chosen, key in steps:
            name = None if key == 0 else f"key-{key}-{'-'.join(map(str, chosen))}"
            told = clients[who].ask(rows(6)[chosen], idempotency_key=name)
            seen[who] |= set(map(tuple, told["logits"]))
            if told["receipt"] is not None:
                numbers[who].add(told["receipt"]["number"])
        for one, other in ((0, 1), (0, 2), (1, 2)):
            assert not seen[one] & seen[other]
            assert not numbers[one] & numbers[other]

    check()
    assert all(len(answers) <= 6 for answers in seen)  # each row was drawn once
    assert verify_ledger(service.where) == []

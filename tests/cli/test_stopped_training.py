"""The key of a training's charge: the same for one request, spent before a step, held alone."""

import json

import pytest

from reticent.cli.charge_key import ChargeKey
from reticent.cli.stopped_training import LogLines, StoppedTraining, lines_of_steps
from reticent.guarantee import GaussianEvent, Relation
from reticent.ledger import BudgetExhausted
from reticent.protect import Terms
from reticent.validation import InputError

TERMS = Terms(epsilon=1.0, delta=1e-5, relation=Relation.ADD_REMOVE)
EVENT = GaussianEvent(noise_multiplier=2.0)


def dropped(key):
    """As a kill leaves it: the file stays, the lock does not."""
    key._file.close()
    return key.value


def test_the_same_request_has_the_same_key_after_a_kill(tmp_path):
    path = tmp_path / "key"
    first = dropped(ChargeKey(path, request="one"))
    assert dropped(ChargeKey(path, request="one")) == first
    assert dropped(ChargeKey(path, request="other")) != first
    assert dropped(ChargeKey(path, request="one")) != first


def test_a_spent_key_is_never_taken_again(tmp_path):
    path = tmp_path / "key"
    key = ChargeKey(path, request="one")
    with path.open() as kept:  # a process that has opened it before it was removed
        key.spend()
        assert kept.read() == ""
    assert not path.exists()
    assert dropped(ChargeKey(path, request="one")) != key.value


def test_a_key_that_was_cut_off_is_none(tmp_path):
    path = tmp_path / "key"
    first = dropped(ChargeKey(path, request="one"))
    path.write_text(path.read_text()[:-1])
    assert dropped(ChargeKey(path, request="one")) != first


def test_two_processes_do_not_share_a_key(tmp_path):
    path = tmp_path / "key"
    held = ChargeKey(path, request="one")
    with pytest.raises(InputError, match="must not be in use"):
        ChargeKey(path, request="one")
    held.spend()


def charged(training, charge):
    training.charge_once(charge, TERMS, "network, gaussian noise")(EVENT)


def test_a_charge_is_made_with_the_key_and_a_refusal_leaves_nothing(tmp_path):
    out, keys = tmp_path / "net", []
    training = StoppedTraining(out, ledger="book", data_set="digits")
    charged(training, lambda *_, key: keys.append(key))
    dropped(training._once._key)
    again = StoppedTraining(out, ledger="book", data_set="digits")
    assert not again.goes_on(resume=True)  # nothing was saved, and the charge is taken again
    charged(again, lambda *_, key: keys.append(key))
    dropped(again._once._key)
    other = StoppedTraining(out, ledger="book", data_set="other")
    charged(other, lambda *_, key: keys.append(key))
    assert keys[0] == keys[1] != keys[2]
    other._begun()
    assert list(tmp_path.iterdir()) == []

    def refuse(*_, key):
        raise BudgetExhausted("nothing is left")

    with pytest.raises(BudgetExhausted):
        charged(StoppedTraining(out, ledger="book", data_set="digits"), refuse)
    assert list(tmp_path.iterdir()) == []


def test_the_log_outlives_a_stop_and_holds_each_step_once(tmp_path):
    """Steps after the last saved state are taken again: theirs is the line of what was released."""
    path = tmp_path / ".log.part"
    for step, norm in ((1, 0.5), (2, 0.25), (3, 0.125)):
        LogLines(path)({"step": step, "norm": norm})
    assert path.stat().st_mode & 0o077 == 0
    with path.open("a") as file:
        file.write('{"step": 4, "no')
    assert lines_of_steps(path).splitlines()[-1] == '{"step": 3, "norm": 0.125}'
    path.write_text(path.read_text().rpartition("\n")[0] + "\n")
    for step, norm in ((3, 9.0), (4, 8.0)):
        LogLines(path)({"step": step, "norm": norm})
    found = [json.loads(line) for line in lines_of_steps(path).splitlines()]
    assert [(one["step"], one["norm"]) for one in found] == [
        (1, 0.5),
        (2, 0.25),
        (3, 9.0),
        (4, 8.0),
    ]
    assert lines_of_steps(tmp_path / "none") == ""

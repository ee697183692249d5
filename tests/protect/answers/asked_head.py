"""A small head that every test of answers asks, and what other processes of a test run with it.

Other processes import it by name, so it is a module of its own.
"""

import functools
import threading

import numpy as np

from reticent.ledger import BudgetExhausted, Ledger
from reticent.protect.answers import calibrated_answers, charge_answers, numbers_of, private_answers
from reticent.training import SoftmaxHead

ACCOUNT = "survey"


@functools.cache
def records(classes=3):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % classes
    return np.eye(5)[labels] + 0.3 * rng.normal(size=(60, 5)), labels


@functools.cache
def fitted(classes=3):
    """Cached: nobody may change it."""
    X, y = records(classes)
    return SoftmaxHead(penalty=0.2, classes=range(classes), records=60).fit(X, y)


def planned(classes=3, **asked):
    wanted = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove", "queries": 5} | asked
    return calibrated_answers(numbers_of(fitted(classes)), **wanted)


def ask_from_threads(path, plan_of, threads, each, gate, passed):
    """``each`` queries from each of ``threads`` threads; puts how many were answered."""
    counts, refused = [0] * threads, [0] * threads
    plan = planned(**plan_of)
    query = records()[0][:1]

    def work(index):
        for _ in range(each):
            try:
                answered = answers.ask(query)
            except BudgetExhausted:
                refused[index] += 1
                continue
            counts[index] += len(answered.labels)

    with Ledger.open(path) as ledger:
        answers = private_answers(fitted(), plan, charge=charge_answers(ledger, ACCOUNT, plan))
        workers = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
        gate.wait()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    passed.put((sum(counts), sum(refused)))

"""What the other processes of a test run; they import it by name, so it is a module of its own."""

import threading

from reticent.ledger import BudgetExhausted, Ledger

ACCOUNT = "survey"
RELATION = "add-remove"


def charge_from_threads(path, event, threads, each, gate, passed):
    """``each`` charges from each of ``threads`` threads; puts how many were allowed."""
    counts = [0] * threads

    def work(index):
        for number in range(each):
            try:
                ledger.charge(ACCOUNT, event, relation=RELATION, purpose=f"{index}-{number}")
            except BudgetExhausted:
                continue
            counts[index] += 1

    with Ledger.open(path) as ledger:
        workers = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
        gate.wait()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    passed.put(sum(counts))


def stop_at_the_commit(path, event, reached):
    """Make a charge and hang with everything written and nothing committed."""
    import sqlalchemy

    ledger = Ledger.open(path)

    @sqlalchemy.event.listens_for(sqlalchemy.Engine, "commit")
    def hang(connection):
        if connection.get_execution_options().get("reticent_writes"):
            reached.set()
            threading.Event().wait()

    ledger.charge(ACCOUNT, event, relation=RELATION, purpose="never done")

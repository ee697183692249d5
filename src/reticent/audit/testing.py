"""One line for a test suite: fail where a function's privacy claim can be refuted."""

from typing import Any

from reticent.audit.mechanism import FunctionAudit, Mechanism, audit_function


def assert_private(
    function: Mechanism | None,
    one: object,
    other: object,
    *,
    epsilon: float,
    delta: float,
    **options: Any,
) -> FunctionAudit:
    """Audit the function on two neighbouring inputs; an AssertionError says what refutes it.

    A function whose claim is true fails once in a million audits (``beta``), so that a suite can
    run it every day.

    Args:
        function: Called with an input, returns one output.
        one: An input.
        other: A neighbouring input.
        epsilon: Claimed.
        delta: Claimed.
        **options: As for ``reticent.audit.mechanism.audit_function``: runs, beta, seed, many,
            progress.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> audit = assert_private(
    ...     lambda answer: answer if rng.random() < 0.75 else not answer,
    ...     True,
    ...     False,
    ...     epsilon=1.1,
    ...     delta=0.0,
    ...     runs=2_000,
    ... )
    >>> audit.verdict
    'not refuted'
    """
    __tracebackhide__ = True  # pytest shows the line that called
    beta = options.pop("beta", 1e-6)
    audit = audit_function(function, one, other, epsilon=epsilon, delta=delta, beta=beta, **options)
    if audit.refuted:
        raise AssertionError(f"not private as claimed: {audit}")
    return audit

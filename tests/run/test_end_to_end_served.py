"""A service inside of the audit's process leaves it as it was."""

import io
import logging
import logging.config
import signal

from reticent.run.end_to_end_served import handlers_kept


class ClosesItsStream(logging.StreamHandler):
    """As absl's handler does with a stream that is not the error stream of the moment."""

    def close(self):
        super().close()
        self.stream.close()


def test_log_settings_of_a_service_close_no_handler_of_the_process():
    stream = io.StringIO()
    handler = ClosesItsStream(stream)
    before = signal.getsignal(signal.SIGTERM)
    with handlers_kept():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})
    assert not stream.closed
    assert signal.getsignal(signal.SIGTERM) == before
    assert any(known() is handler for known in logging._handlerList)

"""The end of the process, also when threads or tasks refuse to end.

Python waits for every worker thread, and the event loop for every task. A thread that waits for
something that never comes would keep a stopped server alive, so both waits get a deadline.
"""

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable

AT_ONCE = 130  # what a shell reports of a program that Ctrl-C ended


def leave_now(code: int, farewell: Callable[[], None]) -> None:
    """Ends the process without waiting for anybody. `farewell` writes the last log lines."""
    farewell()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def leave_within(seconds: float, code: int, farewell: Callable[[], None]) -> None:
    """Gives the ordinary end that long, then ends the process with the same code."""

    def end() -> None:
        time.sleep(seconds)
        leave_now(code, farewell)

    threading.Thread(target=end, name="leave-within", daemon=True).start()


def fail_after(seconds: float) -> None:
    """For a stop that hangs: dumps every stack and ends with code 1, whatever blocks."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)


def fail_never() -> None:
    """The stop came to its end."""
    faulthandler.cancel_dump_traceback_later()

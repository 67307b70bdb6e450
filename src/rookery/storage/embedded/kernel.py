"""Two system calls that Python does not offer: a new user namespace, and dying with a parent."""

import ctypes
import os
import signal
from collections.abc import Callable

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def unshare_user() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def dying_with_parent(death: signal.Signals) -> Callable[[], None]:
    """What a forked child calls before exec, so that the kernel signals it when its parent ends.

    The kernel ties this to the forking thread, and forgets it when the account changes: so the
    parent has one thread and has changed its account before.
    """
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def before_exec() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        libc.prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    return before_exec

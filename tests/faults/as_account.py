"""Becomes one of PostgreSQL's programs, which refuse to run as root; for root, in a user namespace.

It is started by its path, and ends with the thread that started it.
"""

import ctypes
import os
import signal
import sys

from rookery.server.db.embedded.processes import PR_SET_PDEATHSIG, enter_namespace

if __name__ == "__main__":
    if os.geteuid() == 0:
        enter_namespace(0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)
    os.execv(sys.argv[1], sys.argv[1:])

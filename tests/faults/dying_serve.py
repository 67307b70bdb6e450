"""`rookery serve` that kills itself at a fault point, for tests: dying_serve.py MOMENT WORDS"""

import os
import signal
import sys

from rookery.cli.main import main
from rookery.storage import faultpoints


def die_at(moment: str) -> None:
    def hook(reached: str) -> None:
        if reached == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    faultpoints.set_hook(hook)


if __name__ == "__main__":
    die_at(sys.argv[1])
    sys.exit(main(sys.argv[2:]))

"""`python -m rookery.engine`: speak UCI on stdin and stdout, or `bench` and leave."""

import gc
import sys

from rookery.engine.session import Session
from rookery.engine.thinking import Inbox


def main(arguments: list[str] | None = None) -> int:
    """Run the engine; words on the command line are one UCI command to carry out and leave."""
    words = sys.argv[1:] if arguments is None else arguments
    # A collection would come in the middle of a search; memory is tidied between games instead.
    gc.disable()
    session = Session(Inbox(sys.stdin.fileno()), _say)
    try:
        if words:
            session.obey(" ".join(words))
        else:
            session.run()
    except (BrokenPipeError, KeyboardInterrupt):
        # Whoever listened has gone: so do we, without complaint and without a last flush.
        sys.stderr.close()
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""Sittings of a match or a tune: the resume file, an interruption, and how it goes on after one."""

import argparse
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rookery.worker.match.faults import MatchFault
from rookery.worker.match.journal import Head, Journal, JournalWriter, read_journal

INTERRUPTED = 130
FAILURES = "match-failures.txt"
OF_ONE_SITTING = frozenset({"run", "json", "resume", "resume_file"})
NUMBERS = frozenset({"sprt", "resign", "draw"})
"""Options that take several numbers at once."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """Where the resume file is, what it says already, and whether it outlives the match."""

    path: Path
    kept: Journal
    keep: bool

    @contextlib.contextmanager
    def journal(self) -> Iterator[JournalWriter]:
        """The file to add to; once all is played it has no more use and goes, if it may."""
        with JournalWriter(self.path, self.kept.head) as writer:
            yield writer
        if not self.keep:
            self.path.unlink(missing_ok=True)

    def way_on(self, kind: str) -> str:
        """How to go on later, if there is anything to go on with."""
        return f" To go on: rookery {kind} --resume {self.path}" if self.path.exists() else ""

    def leave(self, kind: str) -> None:
        """After a fault: what was played can be gone on with once its cause is gone."""
        if not self.path.exists():
            return
        if read_journal(self.path, kind).entries:
            print(f"To go on: rookery {kind} --resume {self.path}", file=sys.stderr)
        elif not self.keep:
            self.path.unlink()


def add_session(parser: argparse.ArgumentParser) -> None:
    """What has to do with one sitting and not with the games."""
    group = parser.add_argument_group("session")
    group.add_argument("--json", action="store_true", help="print one JSON object at the end")
    group.add_argument("--resume", type=Path, metavar="FILE", help="go on where it was left")
    group.add_argument("--resume-file", type=Path, metavar="FILE", help="keep the resume file here")
    group.add_argument(
        "--failures",
        type=Path,
        default=Path(FAILURES),
        metavar="FILE",
        help=f"keep what engines did wrong (default: {FAILURES})",
    )


def resumable(
    args: argparse.Namespace,
    kind: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    play: Callable[[argparse.Namespace, Sitting], int],
) -> int:
    """Play from the beginning or from a resume file; an interruption says how to go on."""
    if args.resume is None:
        path = args.resume_file or _default(kind)
        sitting = Sitting(path, Journal(Head(kind, words_of(args)), ()), bool(args.resume_file))
    else:
        sitting = Sitting(args.resume, read_journal(args.resume, kind), keep=True)
        args = _asked_before(args, sitting.kept, add_arguments)
    # An ordinary end of the process is to leave a resume file as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return play(args, sitting)
    except KeyboardInterrupt:
        # Whoever reads the results as data is not to find this among them.
        print(f"\nInterrupted.{sitting.way_on(kind)}", file=sys.stderr if args.json else sys.stdout)
        return INTERRUPTED
    except MatchFault:
        sitting.leave(kind)
        raise


def _default(kind: str) -> Path:
    """Beside where one works, named after the moment."""
    return Path(f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.resume")


def _asked_before(
    args: argparse.Namespace,
    kept: Journal,
    add_arguments: Callable[[argparse.ArgumentParser], None],
) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    asked = parser.parse_args(list(kept.head.words))
    asked.json = args.json
    return asked


def words_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The arguments once more, as a later sitting reads them."""
    words: list[str] = []
    for name, value in vars(args).items():
        if name not in OF_ONE_SITTING and value not in (None, False, []):
            words.extend(_words(name, value))
    return tuple(words)


def _words(name: str, value: object) -> Iterator[str]:
    flag = f"--{'A' if name == 'a_ratio' else name.replace('_', '-')}"
    if value is True:
        yield flag
    elif not isinstance(value, list):
        yield f"{flag}={value}"
    elif name in NUMBERS:
        yield from (flag, *map(str, value))
    else:
        for one in value:
            yield from (flag, *one) if isinstance(one, list) else (f"{flag}={one}",)

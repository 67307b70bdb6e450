"""A conversation in UCI: commands in, answers out, one search at a time."""

import gc
from collections.abc import Callable, Sequence
from time import perf_counter

from rookery import __version__
from rookery.engine.bench import bench
from rookery.engine.inbox import Inbox
from rookery.engine.limits import parse_go
from rookery.engine.position import BadPosition, Position
from rookery.engine.settings import Settings, option_lines, with_option
from rookery.engine.thinking import Thinker

Say = Callable[[str], None]

NAME = f"Fledgling {__version__}"
AUTHOR = "the Rookery authors"


class Session:
    """Holds what lasts from command to command."""

    def __init__(self, inbox: Inbox, say: Say, clock: Callable[[], float] = perf_counter) -> None:
        self._inbox = inbox
        self._say = say
        self._clock = clock
        self._settings = Settings()
        self._position = Position()
        self._thinker = Thinker(self._settings, inbox, say, clock)
        self._commands: dict[str, Callable[[Sequence[str]], None]] = {
            "uci": self._uci,
            "isready": lambda _: say("readyok"),
            "ucinewgame": self._new_game,
            "setoption": self._set_option,
            "position": self._set_position,
            "go": self._go,
            "bench": lambda _: say(bench(self._settings, clock)),
        }

    def run(self) -> None:
        """Obey until told to quit, or until nobody is there any more."""
        while not self._thinker.told_to_quit:
            line = self._inbox.wait()
            if line is None or line.split(maxsplit=1)[0] == "quit":
                return
            self.obey(line)

    def obey(self, line: str) -> None:
        """Carry out one command; what is unknown is passed over, as the protocol wants."""
        word, *rest = line.split()
        if (command := self._commands.get(word)) is not None:
            command(rest)

    def _uci(self, _: Sequence[str]) -> None:
        self._say(f"id name {NAME}")
        self._say(f"id author {AUTHOR}")
        for line in option_lines():
            self._say(line)
        self._say("uciok")

    def _new_game(self, _: Sequence[str]) -> None:
        self._thinker = Thinker(self._settings, self._inbox, self._say, self._clock)
        self._position = Position()
        gc.collect()

    def _set_option(self, words: Sequence[str]) -> None:
        name, _, value = " ".join(words).removeprefix("name ").partition(" value ")
        try:
            self._settings = with_option(self._settings, name.strip(), value.strip())
        except ValueError as error:
            self._say(f"info string option {name} not set: {error}")
        else:
            # What was remembered under other settings is worthless.
            self._thinker = Thinker(self._settings, self._inbox, self._say, self._clock)

    def _set_position(self, words: Sequence[str]) -> None:
        try:
            self._position.set(words, chess960=self._settings.chess960)
        except BadPosition as error:
            self._say(f"info string position not set: {error}")

    def _go(self, words: Sequence[str]) -> None:
        self._thinker.think(self._position, parse_go(words))

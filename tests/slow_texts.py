"""Texts that make a careless parser slow, for every parser of untrusted text.

Each text repeats one thing: unclosed brackets, digits, spaces, words of the parser's own language.
A parser passes if a text of eight times the length takes about eight times as long.
`tests/faults/test_slow_texts.py` tries short texts, `scripts/prove fuzz` long ones and many more.
"""

import contextlib
import gc
import gzip
import io
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time

from rookery.core.errors import Complaint, Fault
from rookery.core.model import timecontrol
from rookery.core.protocol.actions import parse_action_filter
from rookery.core.protocol.games import scan_games
from rookery.core.protocol.v1 import ENGINE_RECORD
from rookery.core.protocol.worker_requests import CREDENTIALS, UPLOAD_PGN
from rookery.core.repositories import parse_repository
from rookery.core.stats.spsa_parameters import read_lines
from rookery.match import openings
from rookery.match.engine_output import LastScore, LineSplitter, read_info
from rookery.match.fastchess import read_fastchess_line
from rookery.match.introduction import read_introduction
from rookery.server.farm import submission_fields
from rookery.server.farm.rules import patterns
from rookery.server.files.books import BookReader
from rookery.server.http.faults import BadRequest
from rookery.server.http.scope import parse_form
from rookery.server.http.session import cookie_in
from rookery.server.identity.passwords import check_password
from rookery.server.worker_api.calls import normalize_complaint
from rookery.worker.engines import recipes
from rookery.worker.engines.bench import find_last_counts
from rookery.worker.engines.git import BadArchive, unpack_archive

REFUSALS = (ValueError, Fault, Complaint, BadArchive, BadRequest)
"""The errors by which parsers refuse a text; any other exception is a bug."""
UNITS = (
    *("{", "}", "{}", "{ ", "(", ")", "(a", "[", "]", '"', "\\", "\\u0000", '\\"', "%"),
    *(" ", "\n", "\t", "\r\n", "\0", "\ufeff", "0", "1", "1.", "1,", ".", "-", "+", "=", "a=b "),
    *(":", ";", ",", "/", "*", "$", "<", "a", "aa ", "a\n", "\u0661", "x" * 61 + "\n"),
)
Read = Callable[[str], object]
GROWTH = 8
MOST_RATIO = 3.5
"""The largest ratio of the time per character in the long text and in the short one; quadratic time
has 8."""


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser, and words of its language that might mislead it."""

    name: str
    read: Read
    keywords: tuple[str, ...] = ()

    def cost(self, text: str) -> float:
        """The seconds of this thread's time for parsing a text; raises anything that is no
        refusal."""
        gc.disable()
        try:
            began = thread_time()
            with contextlib.suppress(*REFUSALS):
                self.read(text)
            return thread_time() - began
        finally:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: a head, repeated units, and a tail that fits nothing."""

    head: str
    units: tuple[str, ...]
    tail: str

    def text(self, size: int) -> str:
        room = max(0, size - len(self.head) - len(self.tail)) // len(self.units)
        body = "".join(unit * (room // len(unit)) for unit in self.units)
        return f"{self.head}{body}{self.tail}"


def plain_shapes(parser: Parser) -> Iterator[Shape]:
    """Every unit and every word of the parser, repeated after an empty head and after each of its
    words."""
    units = (*UNITS, *parser.keywords)
    for head in ("", *parser.keywords):
        for unit in units:
            yield Shape(head, (unit,), "!")


def chance_shapes(parser: Parser, count: int, seed: int) -> Iterator[Shape]:
    """Random heads with pairs and triples of units; the same for the same seed."""
    chance = random.Random(f"{parser.name} {seed}")
    units = (*UNITS, *parser.keywords)
    for _ in range(count):
        head = "".join(chance.choices(("", *parser.keywords, *UNITS), k=chance.randint(0, 2)))
        joined = tuple(
            "".join(chance.choices(units, k=chance.randint(1, 3)))
            for _ in range(chance.randint(1, 3))
        )
        yield Shape(head, joined, chance.choice(("", "!", "\n", "}", '"')))


def too_steep(parser: Parser, shape: Shape, size: int, floor: float) -> float:
    """How many times as long a character takes in a text of GROWTH times the size; 0 if that is
    fine.

    A text that takes less than `floor` seconds is fast enough; its measurement would be too coarse.
    """
    large = shape.text(size * GROWTH)
    if parser.cost(large) <= floor:
        return 0.0
    small = shape.text(size)
    most = min(parser.cost(large) for _ in range(5)) / len(large)
    least = min(parser.cost(small) for _ in range(5)) / len(small)
    return most / least if most > MOST_RATIO * least else 0.0


def _books(name: str) -> Read:
    def read(text: str) -> None:
        reading = BookReader(name)
        reading.feed(text.encode("utf-8", "replace"))
        reading.finish()

    return read


def _pgn_book(text: str) -> None:
    data = text.encode("utf-8", "replace")
    for start in openings.pgn_starts(data)[:3]:
        openings.pgn_opening(data[start:].decode(), plies=8, chess960=False)


def _epd_book(text: str) -> None:
    data = text.encode("utf-8", "replace")
    for line in [data[start:].partition(b"\n")[0] for start in openings.epd_starts(data)[:3]]:
        openings.epd_opening(line.decode(), chess960=False)


def _uci_output(text: str) -> None:
    score, lines = LastScore(), LineSplitter()
    score.feed(lines.feed(text.encode("utf-8", "replace") + b"\n"))
    read_info(score.line or text.encode("utf-8", "replace"))


def _makefile(text: str) -> None:
    with TemporaryDirectory() as folder:
        tree = Path(folder)
        (tree / "Makefile").write_text(text, "utf-8")
        recipes.discover_recipes(tree)


def _archive(text: str) -> None:
    """An archive with members named by the text. They are links, which are skipped: this tests
    names, not the disk."""
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "a.zip"
        with zipfile.ZipFile(archive, "w") as made:
            for place in range(0, len(text), 200):
                link = zipfile.ZipInfo(f"outer/{place}{text[place : place + 200]}")
                link.external_attr = 0o120777 << 16
                made.writestr(link, text[:100])
        unpack_archive(archive, Path(folder) / "into")


def _broken_archive(text: str) -> None:
    """An archive whose directory disagrees with its content."""
    with TemporaryDirectory() as folder:
        into = io.BytesIO()
        with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("a", text)
        data = into.getvalue()
        archive = Path(folder) / "a.zip"
        archive.write_bytes(data[:40] + text.encode("utf-8", "replace") + data[40:])
        with contextlib.suppress(OSError):
            unpack_archive(archive, Path(folder) / "into")


def _packed_book(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "book.pgn.gz"
        path.write_bytes(gzip.compress(text.encode("utf-8", "replace"), 1))
        openings.read_book(path)


def _pattern(text: str) -> None:
    patterns.check(text[: patterns.MOST_CHARACTERS])
    patterns.is_found(text[: patterns.MOST_CHARACTERS], "a" * 200)


def _bytes(read: Callable[[bytes], object], before: str = "", after: str = "") -> Read:
    return lambda text: read(f"{before}{text}{after}".encode("utf-8", "replace"))


def _commit_message(text: str) -> None:
    submission_fields.without_bench(text)
    submission_fields.signature("", "", text)


_TAGS = ('[Event "', '\n[Event "x"]\n', '[Event "x"]\n\n', '[FEN "', "e4 ", "1. e4 {", "(e5 ")
_EMPTY = "4k3/8/8/8/8/8/8/4K3 w - - "
_OPTION = ("option name ", "option name a type spin ", " type ", " type b default", " min 1")
_BENCH = ("Nodes/second", "Nodes searched : ", "1 nodes ", " nps", "1 nps\n")
_MATCH = (
    *("Started game 1 of 2 (", "Finished game 1 (a vs b): 1-0 {", "Results of ", " vs ", " (a):"),
    *("): 1-0 {", " (", "[INFO ] ", " --- ", "Engine ", "Warning; ", "Ptnml(0-2): ["),
)
PARSERS: tuple[Parser, ...] = (
    Parser("games of an upload", _bytes(lambda data: scan_games(gzip.compress(data, 1))), _TAGS),
    Parser("book of games, server", _books("a.pgn"), (*_TAGS, "$1", "Nf3 Nf6 Ng1 Ng8 ")),
    Parser("book of positions, server", _books("a.epd"), ("8/", "w - - ", "hmvc 1;")),
    Parser("book of games, worker", _pgn_book, _TAGS),
    Parser("book of positions, worker", _epd_book, ("8/", _EMPTY, "hmvc ", "fmvn 1", "hmvc 1;")),
    Parser("packed book", _packed_book, _TAGS),
    Parser("UCI output", _uci_output, ("info ", "score cp ", "depth ", " pv ", "info score cp 1 ")),
    Parser("UCI options", lambda text: read_introduction(text.split("\n")), _OPTION),
    Parser("bench of an engine", lambda text: find_last_counts(text.splitlines()), _BENCH),
    Parser("fastchess output", read_fastchess_line, _MATCH),
    Parser("SPSA lines", read_lines, ("a,1,0,2,1,1\n", "a,", "a,int,", "1e", "a,1")),
    Parser("options of an engine", partial(submission_fields.options, ""), ("Hash=", "Hash=1 ")),
    Parser("message of a commit", _commit_message, ("bench", "bench ", "Bench:", "bench: 1,")),
    Parser(
        "address of a repository",
        partial(parse_repository, ""),
        ("https://a/", "ssh://"),
    ),
    Parser("time control", timecontrol.parse, ("1/", "1:", "1+", "N=", "st=")),
    Parser("filter of actions", _bytes(parse_action_filter), ('{"$or":[', '{"run":', '{"a":')),
    Parser("text in a filter", _bytes(parse_action_filter, '{"run":"', '"}')),
    Parser("pattern", _pattern, ("(a|aa)*", "a{1,9}", "^(?!", "[a-z]*", "(a+)+")),
    Parser(
        "complaint of a worker", normalize_complaint, ("Wrong bench in stockfish-abcdef0", ", user")
    ),
    Parser("who calls", _bytes(CREDENTIALS.read, '{"password":"', '"}'), ("\\ud800", "\\udc00")),
    Parser("body of an upload", _bytes(UPLOAD_PGN.read, '{"pgn":"', '"}'), ("H4sI", '","a":"')),
    Parser("engine record", _bytes(ENGINE_RECORD.read), ('{"name":"', '{"nets":{')),
    Parser("form", _bytes(parse_form), ("a=b&", "%41", "&&")),
    Parser("cookies", cookie_in, ("a=b; ", "rookery_session", "rookery_session=")),
    Parser("password", lambda text: check_password(text[:1024], ("ada",)), ("pass", "4bcD")),
    Parser("Makefile", _makefile, ("EXE", "EXE = ", "\nEXE", "$(ARCH)", "profile-build", "CXX=")),
    Parser("zip archive", _archive, ("../", "a/", "C:", "a\n")),
    Parser("damaged zip archive", _broken_archive, ("PK\x01\x02", "PK\x05\x06")),
)

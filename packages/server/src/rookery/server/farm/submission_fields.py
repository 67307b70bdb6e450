"""Checks the fields of a submission, each by its own rule."""

import re
from functools import partial

from msgspec.structs import replace

from rookery.core.model.engine import STOCKFISH, UPLOADED, Catalogue
from rookery.core.model.plan import BOOK_NAME, Plan, Side, UciOptions
from rookery.core.model.timecontrol import BadTimeControl, parse
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.codec import refuse, require
from rookery.core.protocol.runs import Submission, side_key
from rookery.core.repositories import parse_repository
from rookery.server.farm.rules.patterns import is_whole

# Single fields. An official worker that gets a bad value ends its process, so nothing doubtful is
# accepted.

MOST_HASH_MIB = 2**20
DEEPEST_BOOK = 1000
_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_SIGNATURE = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
# As engines' commit messages end with it: "Bench: 1234567", "bench = 1,234,567".
_BENCH = re.compile(r"\b[Bb]ench\s*(?:[:=]\s*)?([1-9][0-9,]{4,14})\b", re.ASCII)
_SRI = re.compile(r"[A-Za-z0-9+/]{64}", re.ASCII)
_TOKEN = re.compile(r"[^\s=]+=[^\s=]*", re.ASCII)


def time_control(field: str, text: str) -> str:
    """Return the time control in its canonical form."""
    try:
        return str(parse(text))
    except BadTimeControl as error:
        refuse(field, str(error))


def commit(field: str, found: str) -> str:
    """Return the commit's hash in lower case. An uploaded program has no commit; callers pass the
    beginning of the program's hash instead."""
    if not found:
        refuse(field, "give the 40 hex digits of the commit")
    require(_COMMIT.fullmatch(found.lower()) is not None, field, "expected 40 hex digits")
    return found.lower()


def signature(field: str, found: str, message: str) -> str:
    """Return the bench as given, else the last one named in the commit's message."""
    if not found:
        named = find_bench(message)
        if not named:
            refuse(field, "give the bench of the commit; its message, as given, names none")
        return named
    require(_SIGNATURE.fullmatch(found) is not None, field, "expected the nodes of a bench")
    return found


def find_bench(message: str) -> str:
    """Return the last bench named in a commit's message; empty if there is none."""
    named = _BENCH.findall(message)
    return str(named[-1]).replace(",", "") if named else ""


def without_bench(message: str) -> str:
    """Return a commit's message without its bench."""
    return _BENCH.sub("", message).strip()


def options(field: str, text: str) -> str:
    """UCI options: `Name=Value` tokens with single spaces in between, or none at all."""
    require(text.isascii() and text.isprintable(), field, "expected printable ASCII characters")
    tokens = text.split(" ") if text else []
    for token in tokens:
        if not _TOKEN.fullmatch(token):
            refuse(
                field,
                f"{token[:40]!r}: expected Name=Value with one = each and single spaces between",
            )
    names = [token.partition("=")[0] for token in tokens]
    require(len(names) == len({name.lower() for name in names}), field, "an option is named twice")
    _check_numbers(field, tokens)
    return text


def _check_numbers(field: str, tokens: list[str]) -> None:
    for name, _, value in (token.partition("=") for token in tokens):
        if name in ("Hash", "Threads"):
            whole = value.isdecimal() and 1 <= int(value[:9]) <= MOST_HASH_MIB
            require(whole, field, f"{name} must be a whole number from 1 to {MOST_HASH_MIB}")


def book(field: str, name: str) -> str:
    require(
        BOOK_NAME.fullmatch(name) is not None, field, "expected a file name ending in .epd or .pgn"
    )
    return name


def book_depth(field: str, depth: int) -> int:
    require(1 <= depth <= DEEPEST_BOOK, field, f"expected a whole number from 1 to {DEEPEST_BOOK}")
    return depth


def book_sri(field: str, found: str) -> str:
    """Return the hash of a book, 64 characters without a prefix."""
    if not found:
        return ""
    bare = found.removeprefix("sha384-")
    require(_SRI.fullmatch(bare) is not None, field, "expected 64 characters of base64")
    return bare


def whole(field: str, found: float) -> int:
    require(float(found).is_integer(), field, "expected a whole number")
    return int(found)


# The two sides of a submission, new and base, with their settings.

LONGEST_MESSAGE_LINE = 1000
COMMIT_DIGITS = 40
NO_COMMIT, NO_BENCH = "0" * 40, "1"
"""What a side has until its branch is looked up."""


def check_side(
    asked: Submission, prefix: str, tc: str, catalogue: Catalogue, checks: Checks
) -> Side:
    """Return a side of a submission. `add_commit` adds a commit that has to be looked up."""
    key, side = partial(side_key, prefix=prefix), _program(asked, prefix)
    own = tc if side.tc is None else checks.field(time_control, key("tc"), side.tc)
    checks.field(partial(_engine, catalogue=catalogue), key("engine"), side.engine)
    side = replace(
        side,
        tag=checks.field(_tag, key("tag"), side.tag),
        engine=side.engine or (UPLOADED.name if side.binary else STOCKFISH.name),
        tc=None if own == tc else own,
        threads=None if side.threads == asked.plan.threads else side.threads,
    )
    known = side.commit or side.binary
    side = (add_commit if known else _await_commit)(side, asked, prefix, checks)
    checks.field(options, key("options"), side.options)
    checks.field(_uci, key("uci"), side.uci)
    nets = partial(_nets, engine=side.engine, catalogue=catalogue)
    checks.field(nets, key("nets"), side.nets, key("engine"))
    return replace(side, repository=_repository(asked.plan, prefix, side, catalogue, checks))


def _program(asked: Submission, prefix: str) -> Side:
    """Return the given side; in a tune both sides play the program of the first one."""
    side = asked.side(prefix)
    return side if asked.kind.kind.compares else replace(side, binary=asked.side("new").binary)


def add_commit(side: Side, asked: Submission, prefix: str, checks: Checks) -> Side:
    """Return the side with the commit of the submission, its message and its bench."""
    given = _program(asked, prefix)
    found = given.commit or given.binary[:COMMIT_DIGITS]
    return replace(
        side,
        commit=checks.field(commit, side_key("commit", prefix), found),
        message=_first_line(given.message),
        signature=_bench(asked, prefix, checks, otherwise=""),
    )


def _await_commit(side: Side, asked: Submission, prefix: str, checks: Checks) -> Side:
    bench = _bench(asked, prefix, checks, otherwise=NO_BENCH)
    return replace(side, commit=NO_COMMIT, signature=bench)


def _bench(asked: Submission, prefix: str, checks: Checks, otherwise: str) -> str:
    """Return the bench of a side; in a tune, that of the first one. An uploaded program needs none,
    since its hash identifies it, and that of a branch may be in the message of its commit."""
    prefix = prefix if asked.kind.kind.compares else "new"
    side = asked.side(prefix)
    if not side.signature and (side.binary or otherwise):
        return otherwise
    check = partial(signature, message=side.message)
    return checks.field(check, side_key("signature", prefix), side.signature)


def _tag(field: str, text: str) -> str:
    tag = text.strip()
    require(bool(tag) and tag.isprintable(), field, "expected the name of a branch or commit")
    return tag


def _first_line(message: str) -> str:
    return next(iter(message.strip().splitlines()), "")[:LONGEST_MESSAGE_LINE]


def _engine(field: str, name: str, catalogue: Catalogue) -> str:
    known = ", ".join(sorted(catalogue.engines))
    good = not name or name in catalogue.engines
    require(good, field, f"expected an engine known here: {known}")
    return name


def _uci(field: str, options: UciOptions) -> UciOptions:
    """Structured UCI options. Names and values may contain spaces, but no line breaks, which would
    start another command to the engine."""
    for name, value in options:
        good = bool(name.strip()) and name.isprintable() and value.isprintable()
        require(good, field, "expected option names and values without control characters")
    return options


def _nets(field: str, names: tuple[str, ...], engine: str, catalogue: Catalogue) -> tuple[str, ...]:
    require(len(names) == len(set(names)), field, "a net is named twice")
    pattern = catalogue.record(engine).nets.pattern or r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
    for name in names:
        require(is_whole(pattern, name), field, f"{name[:40]!r} is not the name of a net")
    return names


def _repository(plan: Plan, prefix: str, side: Side, catalogue: Catalogue, checks: Checks) -> str:
    """Return the repository of a side, else the one in its engine's record."""
    if side.repository:
        return checks.field(parse_repository, repository_key(plan, prefix), side.repository)
    known = checks.are_right(side_key("engine", prefix))
    return catalogue.record(side.engine).repository if known else ""


def repository_key(plan: Plan, prefix: str) -> str:
    """Return the field in which a side's repository was given."""
    new, base = plan.sides
    return "tests_repo" if new.repository == base.repository else f"{prefix}_repo"


# Architectures that the official worker is known to report.

KNOWN_ARCHITECTURES = (
    "apple-silicon",
    "armv7",
    "armv7-neon",
    "armv8",
    "armv8-dotprod",
    "e2k",
    "general-32",
    "general-64",
    "loongarch64",
    "loongarch64-lasx",
    "loongarch64-lsx",
    "ppc-32",
    "ppc-64",
    "ppc-64-altivec",
    "ppc-64-vsx",
    "riscv64",
    "x86-32",
    "x86-32-sse2",
    "x86-32-sse41-popcnt",
    "x86-64",
    "x86-64-avx2",
    "x86-64-avx512",
    "x86-64-avxvnni",
    "x86-64-bmi2",
    "x86-64-sse3-popcnt",
    "x86-64-sse41-popcnt",
    "x86-64-ssse3",
    "x86-64-vnni512",
    "x86-64-avx512icl",
    "unknown",
)

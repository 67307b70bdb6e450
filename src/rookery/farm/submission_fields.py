"""What can be wrong with a submission beyond its form; each class's docstring is its message."""

import re

from msgspec import UNSET, UnsetType

from rookery.model.engine import STOCKFISH, UPLOADED, Catalogue
from rookery.model.patterns import is_whole
from rookery.model.plan import BOOK_NAME, Side
from rookery.model.timecontrol import BadTimeControl, parse
from rookery.people.profiles import repository
from rookery.protocol.codec import WireFault, refuse, require
from rookery.protocol.runs import SubmittedArgs


class Unresolved(WireFault):
    """{field}: give the 40 hex digits of the commit"""


class NoSignature(WireFault):
    """{field}: give the bench of the commit; its message, as given, names none"""


# The single words of a submission, each read by its own rule: an official worker that is given a
# bad one ends its process, so that nothing doubtful is let through.

MOST_HASH_MIB = 2**20
DEEPEST_BOOK = 1000
_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_SIGNATURE = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
# As engines write it at the end of a commit's message: "Bench: 1234567", "bench = 1,234,567".
_BENCH = re.compile(r"\b[Bb]ench\s*(?:[:=]\s*)?([1-9][0-9,]{4,14})\b", re.ASCII)
_SRI = re.compile(r"[A-Za-z0-9+/]{64}", re.ASCII)
_TOKEN = re.compile(r"[^\s=]+=[^\s=]*", re.ASCII)


def time_control(field: str, text: str) -> str:
    """In its one printed form."""
    try:
        return str(parse(text))
    except BadTimeControl as error:
        refuse(field, str(error))


def commit(field: str, found: str | UnsetType) -> str:
    if found is UNSET or not found:
        raise Unresolved(field=field)
    require(_COMMIT.fullmatch(found.lower()) is not None, field, "expected 40 hex digits")
    return found.lower()


def signature(field: str, found: str | int | UnsetType, message: str) -> str:
    """The bench as given, else the last one that the commit's message names."""
    if found is UNSET or found == "":
        named = _BENCH.findall(message)
        if not named:
            raise NoSignature(field=field)
        return str(named[-1]).replace(",", "")
    text = str(found)
    require(_SIGNATURE.fullmatch(text) is not None, field, "expected the nodes of a bench")
    return text


def without_bench(message: str) -> str:
    """The words of a commit's message."""
    return _BENCH.sub("", message).strip()


def options(field: str, text: str) -> str:
    """`Name=Value` tokens with single spaces between; none at all is fine."""
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


def book_depth(field: str, found: str | int) -> int:
    text = str(found)
    depth = int(text) if re.fullmatch(r"[0-9]{1,4}", text) else 0
    require(1 <= depth <= DEEPEST_BOOK, field, f"expected a whole number from 1 to {DEEPEST_BOOK}")
    return depth


def book_sri(field: str, found: str | UnsetType) -> str:
    """The hash of a book, 64 characters without a prefix."""
    if found is UNSET or not found:
        return ""
    bare = found.removeprefix("sha384-")
    require(_SRI.fullmatch(bare) is not None, field, "expected 64 characters of base64")
    return bare


def whole(field: str, found: float) -> int:
    require(float(found).is_integer(), field, "expected a whole number")
    return int(found)


# The two sides of a submission: new and base, each with what it plays by.

LONGEST_MESSAGE_LINE = 1000
COMMIT_DIGITS = 40


def sides_of(args: SubmittedArgs, tc: str, catalogue: Catalogue) -> tuple[Side, Side]:
    """New and base, in this order."""
    return _new(args, tc, catalogue), _base(args, catalogue)


def _new(args: SubmittedArgs, tc: str, catalogue: Catalogue) -> Side:
    own = tc if args.new_tc is UNSET else time_control("new_tc", args.new_tc)
    binary = args.new_binary or ""
    engine = _engine("new_engine", args.new_engine, binary, catalogue)
    return Side(
        tag=_tag("new_tag", args.new_tag),
        commit=_commit("resolved_new", args.resolved_new, binary),
        message=_first_line(args.msg_new),
        signature=_new_signature(args),
        options=options("new_options", args.new_options),
        uci=_uci("new_uci", args.new_uci),
        nets=_nets("new_nets", args.new_nets, engine, catalogue),
        repository=new_repository(args, catalogue),
        engine=engine,
        binary=binary,
        tc=None if own == tc else own,
        threads=_threads(args.new_threads, args),
    )


def _base(args: SubmittedArgs, catalogue: Catalogue) -> Side:
    binary = _base_binary(args)
    engine = _engine("base_engine", args.base_engine, binary, catalogue)
    return Side(
        tag=_tag("base_tag", args.base_tag),
        commit=_commit("resolved_base", args.resolved_base, binary),
        message=_first_line(args.msg_base),
        signature=_base_signature(args),
        options=options("base_options", args.base_options),
        uci=_uci("base_uci", args.base_uci),
        nets=_nets("base_nets", args.base_nets, engine, catalogue),
        repository=base_repository(args, catalogue),
        engine=engine,
        binary=binary,
        threads=_threads(args.base_threads, args),
    )


def _new_signature(args: SubmittedArgs) -> str:
    return _signature("new_signature", args.new_signature, args.msg_new, args.new_binary or "")


def _base_signature(args: SubmittedArgs) -> str:
    """Both sides of a tune are one program, whatever was given for the second."""
    if args.spsa is not UNSET:
        return _new_signature(args)
    return _signature("base_signature", args.base_signature, args.msg_base, args.base_binary or "")


def _base_binary(args: SubmittedArgs) -> str:
    found = args.new_binary if args.spsa is not UNSET else args.base_binary
    return found or ""


def _signature(field: str, found: str | int | UnsetType, message: str, binary: str) -> str:
    """The bytes of a program are known by their hash: its bench need not be."""
    if binary and (found is UNSET or found == ""):
        return ""
    return signature(field, found, message)


def _commit(field: str, found: str | UnsetType, binary: str) -> str:
    """A program that was uploaded comes from no commit: a part of its hash stands for one."""
    return commit(field, found or binary[:COMMIT_DIGITS] or UNSET)


def _tag(field: str, text: str) -> str:
    tag = text.strip()
    require(bool(tag) and tag.isprintable(), field, "expected the name of a branch or commit")
    return tag


def _first_line(message: str) -> str:
    return next(iter(message.strip().splitlines()), "")[:LONGEST_MESSAGE_LINE]


def _engine(field: str, name: str | UnsetType, binary: str, catalogue: Catalogue) -> str:
    if name is UNSET:
        return UPLOADED.name if binary else STOCKFISH.name
    known = ", ".join(sorted(catalogue.engines))
    require(name in catalogue.engines, field, f"expected an engine known here: {known}")
    return name


def _uci(field: str, options: dict[str, str] | UnsetType) -> tuple[tuple[str, str], ...]:
    """Spaces are welcome; a line break would be another command to the engine."""
    if options is UNSET:
        return ()
    for name, value in options.items():
        good = bool(name.strip()) and name.isprintable() and value.isprintable()
        require(good, field, "expected option names and values without control characters")
    return tuple(options.items())


def _nets(field: str, names: tuple[str, ...], engine: str, catalogue: Catalogue) -> tuple[str, ...]:
    require(len(names) == len(set(names)), field, "a net is named twice")
    pattern = catalogue.record(engine).nets.pattern or r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
    for name in names:
        require(is_whole(pattern, name), field, f"{name[:40]!r} is not the name of a net")
    return names


def new_repository(args: SubmittedArgs, catalogue: Catalogue) -> str:
    engine = _engine("new_engine", args.new_engine, args.new_binary or "", catalogue)
    return _repository("new_repo", args.new_repo, args, catalogue.record(engine).repository)


def base_repository(args: SubmittedArgs, catalogue: Catalogue) -> str:
    engine = _engine("base_engine", args.base_engine, _base_binary(args), catalogue)
    return _repository("base_repo", args.base_repo, args, catalogue.record(engine).repository)


def _repository(field: str, own: str | UnsetType, args: SubmittedArgs, source: str) -> str:
    """The side's own, else that of both, else where the engine's record says it comes from."""
    if own is not UNSET and own:
        return repository(field, own)
    return source if args.tests_repo is UNSET else repository("tests_repo", args.tests_repo)


def _threads(own: int | UnsetType, args: SubmittedArgs) -> int | None:
    return None if own is UNSET or own == args.threads else own


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

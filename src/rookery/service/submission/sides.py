"""The two sides of a submission: new and base, each with what it plays by."""

from msgspec import UNSET, UnsetType

from rookery.core.engine import STOCKFISH, UPLOADED, Catalogue
from rookery.core.patterns import is_whole
from rookery.core.plan import Side
from rookery.core.timecontrol import TimeControl
from rookery.protocol.submission import SubmittedArgs
from rookery.service.submission import words
from rookery.service.submission.faults import require

LONGEST_MESSAGE_LINE = 1000
COMMIT_DIGITS = 40


def sides_of(args: SubmittedArgs, tc: TimeControl, catalogue: Catalogue) -> tuple[Side, Side]:
    """New and base, in this order."""
    return _new(args, tc, catalogue), _base(args, catalogue)


def _new(args: SubmittedArgs, tc: TimeControl, catalogue: Catalogue) -> Side:
    own = tc if args.new_tc is UNSET else words.time_control("new_tc", args.new_tc)
    binary = args.new_binary or ""
    engine = _engine("new_engine", args.new_engine, binary, catalogue)
    return Side(
        tag=_tag("new_tag", args.new_tag),
        commit=_commit("resolved_new", args.resolved_new, binary),
        message=_first_line(args.msg_new),
        signature=_new_signature(args),
        options=words.options("new_options", args.new_options),
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
        options=words.options("base_options", args.base_options),
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
    return words.signature(field, found, message)


def _commit(field: str, found: str | UnsetType, binary: str) -> str:
    """A program that was uploaded comes from no commit: a part of its hash stands for one."""
    return words.commit(field, found or binary[:COMMIT_DIGITS] or UNSET)


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
    pattern = catalogue.record(engine).net_pattern or r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
    for name in names:
        require(is_whole(pattern, name), field, f"{name[:40]!r} is not the name of a net")
    return names


def new_repository(args: SubmittedArgs, catalogue: Catalogue) -> str:
    engine = _engine("new_engine", args.new_engine, args.new_binary or "", catalogue)
    return _repository("new_repo", args.new_repo, args, catalogue.record(engine).source)


def base_repository(args: SubmittedArgs, catalogue: Catalogue) -> str:
    engine = _engine("base_engine", args.base_engine, _base_binary(args), catalogue)
    return _repository("base_repo", args.base_repo, args, catalogue.record(engine).source)


def _repository(field: str, own: str | UnsetType, args: SubmittedArgs, source: str) -> str:
    """The side's own, else that of both, else where the engine's record says it comes from."""
    if own is not UNSET and own:
        return words.repository(field, own)
    return source if args.tests_repo is UNSET else words.repository("tests_repo", args.tests_repo)


def _threads(own: int | UnsetType, args: SubmittedArgs) -> int | None:
    return None if own is UNSET or own == args.threads else own

"""`rookery ask`: questions over a server's history of tests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from importlib.util import find_spec
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.core.client.asking import ask_question
from rookery.core.client.logins import THE_SERVER, ServerFlags
from rookery.core.command import BadArgument, command_group, make_printable, option, print_json
from rookery.core.protocol.ask import (
    LONGEST_QUESTION,
    AskAnswer,
    AskEvent,
    AskQuery,
    FoundPassage,
    PassageFilter,
    PassageKind,
    TokenEvent,
)

ask = command_group(
    "ask",
    "Ask what was tried before; answers name their sources.",
    """\
  rookery ask 'Has anybody tried a bigger razoring margin at long time control?'
  rookery ask --outcome failed --time-class ltc 'razoring margin'
  rookery ask --session SESSION 'did it pass?'
  rookery ask index --git ~/src/Stockfish --engine Stockfish""",
)
DAY = "YYYY-MM-DD"


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class FilterFlags:
    """The filters of a question."""

    engine: Annotated[str, option("only what is about this engine", "NAME")] = ""
    user: Annotated[str, option("only tests of this user", "NAME")] = ""
    since: Annotated[date | None, option("not older than this day", DAY)] = None
    until: Annotated[date | None, option("not newer than this day", DAY)] = None
    time_class: Annotated[
        Literal["stc", "ltc", "vltc"] | None, option("only tests at these time controls", "CLASS")
    ] = None
    outcome: Annotated[
        Literal["passed", "failed", "positive", "stopped"] | None,
        option("only tests with this outcome", "OUTCOME"),
    ] = None
    kind: Annotated[
        list[PassageKind] | None, option("only sources of this kind; may be repeated", "KIND")
    ] = None

    def make_filter(self) -> PassageFilter:
        """Return the filter, whose `until` is the end of the last day."""
        return PassageFilter(
            engine=self.engine,
            user=self.user,
            since=_begin_of(self.since),
            until=_begin_of(self.until and self.until + timedelta(days=1)),
            time_class=self.time_class or "",
            outcome=self.outcome or "",
            kinds=tuple(self.kind or ()),
        )


EVERYTHING = FilterFlags()


@ask.default
@ask.command(name="question")
def ask_about(
    question: Annotated[str, option("your question, in quotes")],
    /,
    *,
    session: Annotated[str, option("continue this conversation", "ID")] = "",
    filters: FilterFlags = EVERYTHING,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Ask a question; the answer is printed as it is made, then its sources."""
    if not 0 < len(question.strip()) <= LONGEST_QUESTION:
        raise BadArgument(f"A question has 1 to {LONGEST_QUESTION} characters.")
    query = AskQuery(query=question, session_id=session, filters=filters.make_filter())
    transport = server.transport()
    events = ask_question(transport, query)
    if server.json:
        print_json(reduce(AskAnswer.with_event, events, AskAnswer()))
        return
    answer = _print_answer(events)
    _print_sources(transport.server, answer.sources)
    if answer.session_id:
        print(f"\nContinue with: rookery ask --session {answer.session_id} '...'")


def _print_answer(events: Iterator[AskEvent]) -> AskAnswer:
    answer = AskAnswer()
    for event in events:
        answer = answer.with_event(event)
        if isinstance(event, TokenEvent):
            print(make_printable(event.text, lines=True), end="", flush=True)
    print()
    return answer


def _print_sources(server: str, sources: Sequence[FoundPassage]) -> None:
    if sources:
        print("\nSources:")
    for number, source in enumerate(sources, 1):
        at = source.url if "://" in source.url else server + source.url
        commit = f" {source.commit[:12]}" if source.commit else ""
        print(
            make_printable(
                f"{number:3} {source.kind}{commit}: {source.title}\n    {at}", lines=True
            )
        )


def _begin_of(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)


# The commands for operators on the index, in a module that only the server part has.

_INDEX = "rookery.server.commands.ask_index"
_INDEX_COMMANDS = {
    "index": ("index_history", "Add a repository's commits to what questions search."),
    "rebuild": ("rebuild_index", "Index everything from scratch."),
    "status": ("show_index", "Show what is indexed, and how far that is behind."),
}
if find_spec("asyncpg") and find_spec("rookery.server"):
    for _name, (_function, _purpose) in _INDEX_COMMANDS.items():
        ask.command(f"{_INDEX}:{_function}", _name, help=_purpose)

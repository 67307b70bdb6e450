"""Converts what Ask can find into documents: runs, lines of the log, commits, pages of our docs,
uploads.

All functions are pure. A document does not depend on who asks or which engines are private: it
names its engines, and visibility is decided at the time of a question. So a document changes only
when its source does.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from rookery.core.model.events import BY_WORKERS, Action, Event, is_by_worker
from rookery.core.model.kinds import Outcome
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.core.model.timecontrol import LONG_SECONDS, BadTimeControl, base_seconds, parse
from rookery.core.protocol.kinds import wire_of
from rookery.server.ask.passages import Document, PassageKind
from rookery.server.engines.privacy import NO_COMMIT, without_sources

VERY_LONG_SECONDS = 120.0
LONGEST_TITLE = 200
LONGEST_TEXT = 200_000
"""The longest text of a document in characters; the rest is not indexed."""
WIDEST_ELO = 1000.0
USUAL_OPTIONS = Side(tag="-", commit="").options

RUN_PREFIX, ACTION_PREFIX, COMMIT_PREFIX = "run/", "action/", "commit/"
DOC_PREFIX, UPLOAD_PREFIX = "doc/", "upload/"


def describe_run(run: Run) -> Document | None:
    """Return the document of a run; None for a deleted one.

    Commit messages of unapproved runs are left out, since only insiders may read them. So are the
    figures of active runs, which would be outdated when they are read.
    """
    if run.status.deleted:
        return None
    if not (run.status.approved or run.tally.tasks):
        run = without_sources(run)
    new, outcome = run.plan.new, find_outcome(run)
    return Document(
        key=f"{RUN_PREFIX}{run.id}",
        kind=PassageKind.RUN,
        title=_title(new.tag, run.plan.info or new.message),
        body=_join(_paragraphs(run, outcome)),
        url=f"/runs/{run.id}",
        engine=new.engine,
        engines=_list_engines(run),
        user=run.plan.owner,
        time=run.created,
        tc=run.plan.tc,
        time_class=classify_time(run.plan.tc),
        outcome=outcome,
        elo=format_elo(run) if run.status.finished else "",
        commit="" if new.commit == NO_COMMIT else new.commit,
    )


def _paragraphs(run: Run, outcome: str) -> Iterator[str]:
    plan, (new, base) = run.plan, run.plan.sides
    yield plan.info
    if new.message not in plan.info:
        yield new.message
    yield f"{new.engine} {new.tag} against {base.engine} {base.tag}."
    yield " ".join(_conditions(run, outcome))


def _conditions(run: Run, outcome: str) -> Iterator[str]:
    """Yield what was tested, how it was played and the result, in words that people search for."""
    plan = run.plan
    yield wire_of(run.kind).question
    length = classify_time(plan.tc).upper()
    yield f"Time control {plan.tc}{f' ({length})' if length else ''}, {plan.threads} threads,"
    yield f"book {plan.book}."
    for side in plan.sides:
        if options := _list_options(side):
            yield f"Options of {side.tag}: {options}."
    if outcome:
        yield f"The test {_SENTENCES[outcome]}."


_SENTENCES = {
    "passed": "passed",
    "failed": "failed",
    "positive": "failed, yet positive",
    "stopped": "was stopped",
}


def _list_options(side: Side) -> str:
    """Return the options worth mentioning; the size of a hash table alone is not."""
    spaced = (f"{name}={value}" for name, value in side.uci)
    plain = "" if side.options == USUAL_OPTIONS else side.options
    return " ".join(filter(None, (plain, *spaced)))


def _list_engines(run: Run) -> tuple[str, ...]:
    return tuple(sorted({side.engine for side in run.plan.sides}))


def find_outcome(run: Run) -> str:
    """Return the outcome: `passed`, `failed`, `positive` or `stopped`; empty for an active run and
    a complete tune."""
    found = run.outcome or Outcome.OPEN
    return str(Outcome.PASSED if found.is_pass else found)


def format_elo(run: Run) -> str:
    """Elo with its error and number of games: `+2.31 ± 1.45 (40,000 games)`."""
    results = run.tally.results
    found = run.kind.estimate(results)
    if found is None:
        return ""
    # Also false for NaN, which few pairs can give.
    known = abs(found.elo) < WIDEST_ELO and found.half_width < WIDEST_ELO
    figures = f"{found.elo:+.2f} ± {found.half_width:.2f} " if known else ""
    return f"{figures}({results.games:,} games)"


def classify_time(tc: str) -> str:
    """Return the class of a time control: `stc`, `ltc` or `vltc`; empty for games that are not
    played on a clock."""
    try:
        seconds = base_seconds(parse(tc))
    except BadTimeControl:
        return ""
    if seconds >= VERY_LONG_SECONDS:
        return "vltc"
    if seconds >= LONG_SECONDS:
        return "ltc"
    return "stc" if seconds else ""


_WORDLESS = frozenset({Action.NEW_RUN, Action.FINISHED_RUN, Action.DELETE_RUN, Action.RESTORE_RUN})
LOGGED = frozenset(
    action
    for action in Action
    if action.endswith("_run") and action not in _WORDLESS and action not in BY_WORKERS
)
"""Actions of people on runs, which may have a message. Actions of workers are left out, since they
can be caused at will and are not part of the history."""
_DONE = {
    Action.APPROVE_RUN: "approval",
    Action.MODIFY_RUN: "modification",
    Action.STOP_RUN: "stop",
    Action.PURGE_RUN: "purge",
    Action.REOPEN_RUN: "reopening",
}


def describe_action(event: Event, engines: Sequence[str]) -> Document | None:
    """Return the document of a log line about a run of these engines; None if it adds nothing to
    the run's document."""
    if event.action not in LOGGED or is_by_worker(event) or not event.message:
        return None
    return Document(
        key=f"{ACTION_PREFIX}{event.id}",
        kind=PassageKind.ACTION,
        title=f"{_DONE[Action(event.action)]} of {event.run_name}".capitalize()[:LONGEST_TITLE],
        body=_join((event.message, f"By {event.actor}.")),
        url=f"/runs/{event.run}",
        engine=engines[0] if engines else "",
        engines=tuple(sorted(set(engines))),
        user=event.actor,
        time=event.at,
    )


class KnownCommit(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A commit of an indexed history; `engine` is empty for a history that belongs to none."""

    engine: str
    hash: str
    repository: str
    author: str
    at: datetime
    message: str

    @property
    def key(self) -> str:
        return f"{COMMIT_PREFIX}{self.engine}/{self.hash}"


def describe_commit(commit: KnownCommit) -> Document:
    """Return the document of a commit; its title is the first line of the message."""
    subject, _, rest = commit.message.strip().partition("\n")
    return Document(
        key=commit.key,
        kind=PassageKind.COMMIT,
        title=subject.strip()[:LONGEST_TITLE] or commit.hash[:10],
        body=_join((subject[LONGEST_TITLE:], rest)),
        url=find_commit_address(commit.repository, commit.hash),
        engine=commit.engine,
        engines=(commit.engine,) if commit.engine else (),
        user=commit.author,
        time=commit.at,
        commit=commit.hash,
    )


def find_commit_address(repository: str, commit: str) -> str:
    """Return the web address of a commit; empty if there is none."""
    if not repository.startswith(("https://", "http://")):
        return ""
    between = "/-/commit/" if "gitlab" in repository.split("/")[2] else "/commit/"
    return f"{repository.removesuffix('.git')}{between}{commit}"


PICTURE = "!["


class DocPage(msgspec.Struct, frozen=True, gc=False):
    """A page of Rookery's own docs: its file name without extension, and its Markdown."""

    name: str
    text: str


def describe_doc_page(page: DocPage) -> Document:
    """Return the document of a docs page, without code blocks and captions of pictures: otherwise a
    page about asking questions would match its own examples."""
    lines = "".join(page.text.split("```")[::2]).splitlines()
    text = "\n".join(line for line in lines if not line.startswith(PICTURE))
    head, _, rest = text.partition("\n")
    titled = head.startswith("# ")
    return Document(
        key=f"{DOC_PREFIX}{page.name}",
        kind=PassageKind.DOC,
        title=head.removeprefix("# ").strip()[:LONGEST_TITLE] if titled else page.name,
        body=_join((rest if titled else text,)),
        url=f"/docs/{page.name}",
    )


class UploadedText(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The text of an upload, and its owner."""

    id: str
    name: str
    user: str
    created: datetime
    shared: bool
    text: str


def describe_upload(upload: UploadedText) -> Document:
    """Return the document of an upload, visible to its uploader only, unless shared."""
    return Document(
        key=f"{UPLOAD_PREFIX}{upload.id}",
        kind=PassageKind.UPLOAD,
        title=upload.name[:LONGEST_TITLE],
        body=_join((upload.text,)),
        url=f"/documents/{upload.id}/text",
        owner="" if upload.shared else upload.user,
        user=upload.user,
        time=upload.created,
    )


def _title(tag: str, words: str) -> str:
    """Return the title of a run: the name of the new version, and the first line of its
    description."""
    first = words.strip().partition("\n")[0].strip()
    return f"{tag}: {first}"[:LONGEST_TITLE] if first else tag[:LONGEST_TITLE]


def _join(paragraphs: Sequence[str] | Iterator[str]) -> str:
    filled = (each.strip() for each in paragraphs)
    return "\n\n".join(each for each in filled if each)[:LONGEST_TEXT]

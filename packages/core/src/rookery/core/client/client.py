"""The JSON API as methods: typed values in and out."""

import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from rookery.core.client.transport import ApiTransport, HttpApiTransport, not_rookery
from rookery.core.command import BadArgument
from rookery.core.http_failures import CallRefused
from rookery.core.model.engine import EngineRecord
from rookery.core.model.plan import Modification
from rookery.core.protocol import people, v1, v1_insights

# What all calls share: a body encoded as JSON, an answer decoded to a typed value.

T = TypeVar("T")
ROOT = "/api/v1"


class ApiCalls:
    """Calls one server. Each method makes one call and blocks until it is answered."""

    def __init__(self, transport: ApiTransport) -> None:
        self._transport = transport

    def _get(self, path: str, kind: type[T]) -> T:
        return self._decoded(self._transport.call("GET", path), kind)

    def _delete(self, path: str, kind: type[T]) -> T:
        return self._decoded(self._transport.call("DELETE", path), kind)

    def _post(self, path: str, body: object, kind: type[T]) -> T:
        return self._send("POST", path, body, kind)

    def _send(self, method: str, path: str, body: object, kind: type[T]) -> T:
        return self._decoded(self._transport.call(method, path, msgspec.json.encode(body)), kind)

    def _decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise not_rookery(self._transport.server) from None


def place(*words: str) -> str:
    """Return the path of an API resource. The words are quoted, since names may hold any
    character."""
    return "/".join((ROOT, *(quote(word, safe="") for word in words)))


# What runs are played with: programs, nets, books and engines.

NOT_FOUND = 404


class FileCalls(ApiCalls):
    """The calls about uploaded files and engine records."""

    def has_program(self, sha256: str) -> bool:
        """Whether the server already has this program, so that it need not be uploaded again."""
        try:
            self._transport.call("HEAD", f"/api/binary/{sha256}")
        except CallRefused as refused:
            if refused.status == NOT_FOUND:
                return False
            raise
        return True

    def upload(self, program: Path, engine: str = "") -> v1.UploadedFile:
        """Upload a program; `submit` refers to it by its hash. A program of a private engine is
        visible to the engine's team only."""
        query = _upload_query(program, engine)
        answer = self._transport.upload("POST", f"{place('binaries')}?{query}", program)
        return self._decoded(answer, v1.UploadedFile)

    def nets(self) -> v1.NetList:
        return self._get(place("nets"), v1.NetList)

    def give_net(self, file: Path, engine: str = "") -> v1.NetEntry:
        """Upload a net. A net whose name does not contain its hash is stored under its SHA-256."""
        query = _upload_query(file, engine)
        answer = self._transport.upload("POST", f"{place('nets')}?{query}", file)
        return self._decoded(answer, v1.NetEntry)

    def remove_net(self, name: str) -> v1.NetEntry:
        return self._delete(place("nets", name), v1.NetEntry)

    def books(self) -> v1.BookList:
        return self._get(place("books"), v1.BookList)

    def put_book(self, name: str, file: Path) -> v1.BookEntry:
        answer = self._transport.upload("PUT", place("books", name), file)
        return self._decoded(answer, v1.BookEntry)

    def remove_book(self, name: str) -> v1.BookEntry:
        return self._delete(place("books", name), v1.BookEntry)

    def engines(self) -> v1.EngineList:
        return self._get(place("engines"), v1.EngineList)

    def engine(self, name: str) -> EngineRecord:
        return self._get(place("engines", name), EngineRecord)

    def put_engine(self, record: EngineRecord, *, replace: bool | None = None) -> EngineRecord:
        """Add or replace an engine record. `replace=True` replaces any record, False none, None any
        but a built-in one."""
        query = "" if replace is None else f"?replace={str(replace).lower()}"
        return self._send("PUT", place("engines", record.name) + query, record, EngineRecord)

    def engine_versions(self, name: str) -> v1.EngineVersions:
        return self._get(place("engines", name, "versions"), v1.EngineVersions)

    def restore_engine(self, name: str, version: int) -> v1.EngineList:
        """Restore an earlier version of an engine record. An engine that did not exist at that
        version is removed."""
        body = v1.RestoreBody(version=version)
        return self._post(place("engines", name, "restore"), body, v1.EngineList)

    def remove_engine(self, name: str) -> EngineRecord:
        return self._delete(place("engines", name), EngineRecord)


def _upload_query(file: Path, engine: str) -> str:
    given = {"name": file.name[:100]} | ({"engine": engine} if engine else {})
    return urllib.parse.urlencode(given)


class PeopleCalls(ApiCalls):
    """The calls about accounts and teams."""

    def users(self) -> people.UserList:
        return self._get(place("users"), people.UserList)

    def sign_up(self, name: str, password: str, email: str) -> people.UserEntry:
        """Ask for an account. It can be used once an approver has accepted it."""
        body = people.Application(name=name, password=password, email=email)
        return self._post(place("users"), body, people.UserEntry)

    def change_user(self, name: str, wish: people.UserChange) -> people.UserEntry:
        return self._send("PATCH", place("users", name), wish, people.UserEntry)

    def teams(self) -> people.TeamList:
        return self._get(place("teams"), people.TeamList)

    def create_team(self, name: str) -> people.Team:
        return self._post(place("teams"), people.NewTeam(name=name), people.Team)

    def join_team(self, team: str, user: str, *, lead: bool = False) -> people.Team:
        body = people.MemberBody(lead=lead)
        return self._send("PUT", place("teams", team, "members", user), body, people.Team)

    def leave_team(self, team: str, user: str) -> people.Team:
        return self._delete(place("teams", team, "members", user), people.Team)

    def repositories(self) -> people.GrantedList:
        return self._get(place("repositories"), people.GrantedList)

    def grant_repository(self, repository: str, team: str = "") -> people.GrantedRepository:
        body = people.NewGrant(repository=repository, team=team)
        return self._post(place("repositories"), body, people.GrantedRepository)

    def revoke_repository(self, repository: str, team: str = "") -> people.NewGrant:
        query = urlencode({"repository": repository, "team": team})
        return self._delete(f"{place('repositories')}?{query}", people.NewGrant)

    def me(self) -> people.MeEntry:
        return self._get(place("me"), people.MeEntry)

    def change_me(self, wish: people.MeChange) -> people.MeEntry:
        """Change one's own account. A new password or e-mail address needs the present password."""
        return self._send("PATCH", place("me"), wish, people.MeEntry)

    def tokens(self) -> people.TokenList:
        return self._get(place("tokens"), people.TokenList)

    def make_token(self, wish: people.NewToken) -> people.MadeToken:
        """Make a token. This needs a transport with name and password: a token can't make another
        one."""
        return self._post(place("tokens"), wish, people.MadeToken)

    def follow(self, run_id: str, *, following: bool = True) -> people.FollowedRun:
        """Follow a run, to be notified of its end, or stop following it."""
        word = "follow" if following else "unfollow"
        return self._post(place("runs", run_id, word), {}, people.FollowedRun)

    def told(self, page: int = 1, size: int = 50) -> people.ToldList:
        """Return the notifications sent to you by mail and webhook, the latest first."""
        return self._get(f"{place('notifications')}?page={page}&size={size}", people.ToldList)

    def channels(self) -> people.ChannelList:
        return self._get(place("notifications", "channels"), people.ChannelList)

    def add_webhook(self, wish: people.NewWebhook) -> people.MadeWebhook:
        """Add a webhook. Only this answer contains the secret that signs its messages."""
        return self._post(place("notifications", "channels"), wish, people.MadeWebhook)

    def remove_webhook(self, channel: int) -> people.ChannelList:
        return self._delete(place("notifications", "channels", str(channel)), people.ChannelList)

    def revoke_token(self, token_id: str) -> people.TokenEntry:
        return self._delete(place("tokens", token_id), people.TokenEntry)


# Runs, and the machines that play them.

WHOLE_ID = 24


class RunCalls(ApiCalls):
    """The calls about runs and machines."""

    def submit(self, args: Mapping[str, object]) -> v1.CreatedRun:
        """Create a run. `args` uses the argument names of the API."""
        return self._post(place("runs"), args, v1.CreatedRun)

    def preview(self, args: Mapping[str, object]) -> v1.Preview:
        """Return what `submit` would create from these arguments."""
        return self._post(place("runs", "preview"), args, v1.Preview)

    def runs(
        self,
        *,
        state: v1.ListedState = v1.ListedState.UNFINISHED,
        owner: str = "",
        prefix: str = "",
        page: int = 1,
        size: int = 50,
    ) -> v1.RunList:
        """Return a page of runs. With a prefix: the runs of any state whose id starts with it."""
        query = {"state": state.value, "page": page, "size": size}
        query |= {name: text for name, text in (("owner", owner), ("prefix", prefix)) if text}
        return self._get(f"{place('runs')}?{urllib.parse.urlencode(query)}", v1.RunList)

    def run(self, run_id: str) -> v1.RunDetails:
        return self._get(place("runs", run_id), v1.RunDetails)

    def find_run(self, beginning: str) -> str:
        """Return the id of the one run whose id starts like this. Raise BadArgument."""
        if len(beginning) >= WHOLE_ID:
            return beginning
        found = self.runs(prefix=beginning, size=5).runs
        if len(found) == 1:
            return found[0].id
        if not found:
            raise BadArgument(f"There is no run whose id begins with {beginning}.")
        some = ", ".join(run.id for run in found[:3])
        raise BadArgument(f"Several runs begin with {beginning}: {some}; give more of the id.")

    def address_of(self, run_id: str) -> str:
        """Return the address of a run's page."""
        return f"{self._transport.server}/runs/{run_id}"

    def summary(self, run_id: str, style: v1.SummaryStyle = v1.SummaryStyle.FISHTEST) -> str:
        path = f"{place('runs', run_id, 'summary.txt')}?style={style}"
        return self._transport.call("GET", path).decode("utf-8", "replace")

    def approve(self, run_id: str, records: str = "") -> v1.RunSummary:
        """Approve a run. `records` names the versions of the engine records that were reviewed, as
        given in the run's details."""
        body = v1.ApproveBody(records=records)
        return self._post(place("runs", run_id, "approve"), body, v1.RunSummary)

    def stop(self, run_id: str, message: str = "") -> v1.RunSummary:
        return self._post(
            place("runs", run_id, "stop"), v1.StopBody(message=message), v1.RunSummary
        )

    def modify(self, run_id: str, wish: Modification) -> v1.RunSummary:
        return self._post(place("runs", run_id, "modify"), wish, v1.RunSummary)

    def purge(self, run_id: str) -> v1.PurgeAnswer:
        return self._post(place("runs", run_id, "purge"), {}, v1.PurgeAnswer)

    def delete(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "delete"), {}, v1.RunSummary)

    def restore(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "restore"), {}, v1.RunSummary)

    def withdraw(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "withdraw"), {}, v1.RunSummary)

    def reopen(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "reopen"), {}, v1.RunSummary)

    def diagnosis(self, run_id: str) -> v1_insights.Diagnosis:
        """Why a run does not progress, or that it does."""
        return self._get(place("runs", run_id, "diagnosis"), v1_insights.Diagnosis)

    def samples(self, run_id: str) -> v1_insights.SampleList:
        return self._get(place("runs", run_id, "samples"), v1_insights.SampleList)

    def residuals(self, run_id: str, page: int = 1, size: int = 50) -> v1_insights.ResidualList:
        return self._get(_page(run_id, "residuals", page, size), v1_insights.ResidualList)

    def bad_tasks(self, run_id: str, page: int = 1, size: int = 50) -> v1_insights.BadTaskList:
        return self._get(_page(run_id, "bad_tasks", page, size), v1_insights.BadTaskList)

    def provenance(self, run_id: str, page: int = 1, size: int = 50) -> v1_insights.ProvenanceList:
        return self._get(_page(run_id, "provenance", page, size), v1_insights.ProvenanceList)

    def games(self, run_id: str, page: int = 1, size: int = 50) -> v1_insights.RunGameList:
        return self._get(_page(run_id, "games", page, size), v1_insights.RunGameList)

    def actions(
        self, *, action: str = "", actor: str = "", run: str = "", size: int = 50
    ) -> v1.ActionList:
        """Return the log of actions, newest first: all of it, or one kind of action, one person or
        one run."""
        given = (("action", action), ("actor", actor), ("run", run))
        query = {"size": str(size)} | {name: text for name, text in given if text}
        return self._get(f"{place('actions')}?{urlencode(query)}", v1.ActionList)

    def machine(self, name: str) -> v1.WorkerDetails:
        return self._get(place("workers", name), v1.WorkerDetails)

    def block_machine(self, name: str, message: str) -> v1.WorkerDetails:
        body = v1.BlockBody(message=message)
        return self._post(place("workers", name, "block"), body, v1.WorkerDetails)

    def unblock_machine(self, name: str) -> v1.WorkerDetails:
        return self._post(place("workers", name, "unblock"), {}, v1.WorkerDetails)

    def workers(self) -> v1.WorkerList:
        return self._get(place("workers"), v1.WorkerList)


def _page(run_id: str, what: str, page: int, size: int) -> str:
    return f"{place('runs', run_id, what)}?{urllib.parse.urlencode({'page': page, 'size': size})}"


class Client(RunCalls, FileCalls, PeopleCalls):
    """All calls to one server. Each method makes one call and blocks until it is answered."""

    @classmethod
    def at(cls, server: str, token: str = "") -> "Client":
        return cls(HttpApiTransport(server, token))

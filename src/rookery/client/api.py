"""The JSON API as methods: typed values in and out."""

import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from rookery.client.problems import ApiRefused, BadAnswer
from rookery.client.transport import HttpTransport, Transport
from rookery.protocol import people, v1
from rookery.protocol.engine_record import EngineRecord

T = TypeVar("T")
ROOT = "/api/v1"
NOT_FOUND = 404


class Client:
    """Calls one server; each method is one call, and blocks until it is answered."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @classmethod
    def at(cls, server: str, token: str = "") -> "Client":
        return cls(HttpTransport(server, token))

    def submit(self, args: Mapping[str, object]) -> v1.Made:
        """Create a run; `args` by the names that runs have."""
        return self._post(f"{ROOT}/runs", args, v1.Made)

    def preview(self, args: Mapping[str, object]) -> v1.Preview:
        """What `submit` would make of it."""
        return self._post(f"{ROOT}/runs/preview", args, v1.Preview)

    def has_program(self, sha256: str) -> bool:
        """Whether the server keeps it already, so that it need not be sent again."""
        try:
            self._transport.call("HEAD", f"/api/binary/{sha256}")
        except ApiRefused as refused:
            if refused.status == NOT_FOUND:
                return False
            raise
        return True

    def upload(self, program: Path, engine: str = "") -> v1.Uploaded:
        """Give a program to be played; `submit` names it by its hash. That of a private engine
        is for its team alone."""
        query = _upload_query(program, engine)
        answer = self._transport.upload("POST", f"{ROOT}/binaries?{query}", program)
        return self._decoded(answer, v1.Uploaded)

    def nets(self) -> v1.NetList:
        return self._get(f"{ROOT}/nets", v1.NetList)

    def give_net(self, file: Path, engine: str = "") -> v1.NetEntry:
        """Give a net; one whose name does not tell its hash goes by its SHA-256 from then on."""
        query = _upload_query(file, engine)
        answer = self._transport.upload("POST", f"{ROOT}/nets?{query}", file)
        return self._decoded(answer, v1.NetEntry)

    def books(self) -> v1.BookList:
        return self._get(f"{ROOT}/books", v1.BookList)

    def put_book(self, name: str, file: Path) -> v1.BookEntry:
        answer = self._transport.upload("PUT", _book(name), file)
        return self._decoded(answer, v1.BookEntry)

    def remove_book(self, name: str) -> v1.BookEntry:
        return self._decoded(self._transport.call("DELETE", _book(name)), v1.BookEntry)

    def runs(
        self,
        *,
        state: v1.ListedState = v1.ListedState.UNFINISHED,
        owner: str = "",
        page: int = 1,
        size: int = 50,
    ) -> v1.RunList:
        query = {"state": state.value, "page": page, "size": size}
        if owner:
            query["owner"] = owner
        return self._get(f"{ROOT}/runs?{urllib.parse.urlencode(query)}", v1.RunList)

    def run(self, run_id: str) -> v1.RunDetails:
        return self._get(_place(run_id), v1.RunDetails)

    def summary(self, run_id: str, style: v1.HouseStyle = v1.HouseStyle.FISHTEST) -> str:
        path = f"{_place(run_id)}/summary.txt?style={style}"
        return self._transport.call("GET", path).decode("utf-8", "replace")

    def approve(self, run_id: str) -> v1.RunSummary:
        return self._post(f"{_place(run_id)}/approve", {}, v1.RunSummary)

    def stop(self, run_id: str, message: str = "") -> v1.RunSummary:
        return self._post(f"{_place(run_id)}/stop", {"message": message}, v1.RunSummary)

    def modify(self, run_id: str, wish: v1.ModifyBody) -> v1.RunSummary:
        return self._post(f"{_place(run_id)}/modify", wish, v1.RunSummary)

    def purge(self, run_id: str) -> v1.PurgeAnswer:
        return self._post(f"{_place(run_id)}/purge", {}, v1.PurgeAnswer)

    def delete(self, run_id: str) -> v1.RunSummary:
        return self._post(f"{_place(run_id)}/delete", {}, v1.RunSummary)

    def restore(self, run_id: str) -> v1.RunSummary:
        return self._post(f"{_place(run_id)}/restore", {}, v1.RunSummary)

    def workers(self) -> v1.WorkerList:
        return self._get(f"{ROOT}/workers", v1.WorkerList)

    def users(self) -> people.UserList:
        return self._get(f"{ROOT}/users", people.UserList)

    def sign_up(self, name: str, password: str, email: str) -> people.UserEntry:
        """Ask for an account, which waits until an approver accepts it."""
        body = people.Application(name=name, password=password, email=email)
        return self._post(f"{ROOT}/users", body, people.UserEntry)

    def change_user(self, name: str, wish: people.UserChange) -> people.UserEntry:
        return self._send("PATCH", _user(name), wish, people.UserEntry)

    def teams(self) -> people.TeamList:
        return self._get(f"{ROOT}/teams", people.TeamList)

    def create_team(self, name: str) -> people.TeamEntry:
        return self._post(f"{ROOT}/teams", people.NewTeam(name=name), people.TeamEntry)

    def join_team(self, team: str, user: str, *, lead: bool = False) -> people.TeamEntry:
        return self._send(
            "PUT", _member(team, user), people.MemberBody(lead=lead), people.TeamEntry
        )

    def leave_team(self, team: str, user: str) -> people.TeamEntry:
        return self._decoded(self._transport.call("DELETE", _member(team, user)), people.TeamEntry)

    def engines(self) -> v1.EngineList:
        return self._get(f"{ROOT}/engines", v1.EngineList)

    def engine(self, name: str) -> EngineRecord:
        return self._get(_engine(name), EngineRecord)

    def put_engine(self, record: EngineRecord) -> EngineRecord:
        """Make an engine known, or replace what is known of it."""
        return self._send("PUT", _engine(record.name), record, EngineRecord)

    def remove_engine(self, name: str) -> EngineRecord:
        return self._decoded(self._transport.call("DELETE", _engine(name)), EngineRecord)

    def _get(self, path: str, kind: type[T]) -> T:
        return self._decoded(self._transport.call("GET", path), kind)

    def _post(self, path: str, body: object, kind: type[T]) -> T:
        return self._send("POST", path, body, kind)

    def _send(self, method: str, path: str, body: object, kind: type[T]) -> T:
        return self._decoded(self._transport.call(method, path, msgspec.json.encode(body)), kind)

    def _decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise BadAnswer(self._transport.server) from None


def _place(run_id: str) -> str:
    return f"{ROOT}/runs/{urllib.parse.quote(run_id, safe='')}"


def _engine(name: str) -> str:
    return f"{ROOT}/engines/{urllib.parse.quote(name, safe='')}"


def _member(team: str, user: str) -> str:
    words = [urllib.parse.quote(word, safe="") for word in (team, user)]
    return f"{ROOT}/teams/{words[0]}/members/{words[1]}"


def _upload_query(file: Path, engine: str) -> str:
    given = {"name": file.name[:100]} | ({"engine": engine} if engine else {})
    return urllib.parse.urlencode(given)


def _book(name: str) -> str:
    return f"{ROOT}/books/{urllib.parse.quote(name, safe='')}"


def _user(name: str) -> str:
    return f"{ROOT}/users/{urllib.parse.quote(name, safe='')}"

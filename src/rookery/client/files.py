"""What is played with: programs, nets, books and engines."""

import urllib.parse
from pathlib import Path

from rookery.client.caller import Caller, place
from rookery.client.problems import ApiRefused
from rookery.protocol import v1
from rookery.protocol.engine_record import EngineRecord

NOT_FOUND = 404


class FileCalls(Caller):
    """Files that people give, and records of engines."""

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
        answer = self._transport.upload("POST", f"{place('binaries')}?{query}", program)
        return self._decoded(answer, v1.Uploaded)

    def nets(self) -> v1.NetList:
        return self._get(place("nets"), v1.NetList)

    def give_net(self, file: Path, engine: str = "") -> v1.NetEntry:
        """Give a net; one whose name does not tell its hash goes by its SHA-256 from then on."""
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
        """Make an engine known, or replace what is known of it: any record if told to, none if told
        not to, else any but a built-in one."""
        query = "" if replace is None else f"?replace={str(replace).lower()}"
        return self._send("PUT", place("engines", record.name) + query, record, EngineRecord)

    def engine_versions(self, name: str) -> v1.EngineVersions:
        return self._get(place("engines", name, "versions"), v1.EngineVersions)

    def restore_engine(self, name: str, version: int) -> v1.EngineList:
        """Make an engine what it was; nothing is left of one that was not there then."""
        body = v1.RestoreBody(version=version)
        return self._post(place("engines", name, "restore"), body, v1.EngineList)

    def remove_engine(self, name: str) -> EngineRecord:
        return self._delete(place("engines", name), EngineRecord)


def _upload_query(file: Path, engine: str) -> str:
    given = {"name": file.name[:100]} | ({"engine": engine} if engine else {})
    return urllib.parse.urlencode(given)

"""The server that a command calls and the token for it, which `rookery login` keeps.

The tokens are kept in one file, which only its owner can read and which is replaced as a whole. A
token is sent only to the server that made it.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import platformdirs
from cyclopts import Group, Parameter

from rookery.core.client.client import Client
from rookery.core.client.transport import HttpApiTransport
from rookery.core.command import AsJson, BadArgument, Column, option, print_json, print_table
from rookery.core.http_client import SECONDS
from rookery.core.protocol import v1

SERVER = "ROOKERY_SERVER"
TOKEN = "ROOKERY_TOKEN"  # noqa: S105 - the name of a variable
THIS_MACHINE = "http://127.0.0.1:8000"

Address = Annotated[
    str,
    option(
        f"address of the server (default: the last login's, or {THIS_MACHINE}) [{SERVER}]", "URL"
    ),
]
# Not the token itself, because everybody on a machine can read the words of a command.
TokenFile = Annotated[
    Path | None,
    option(f"file with an access token (default: that of `rookery login`) [{TOKEN}]", "FILE"),
]


@Parameter(name="*", group=Group("Server", sort_key=8))
@dataclass(frozen=True, slots=True)
class ServerFlags:
    """The flags of commands that call a server, and methods that use them."""

    server: Address = ""
    token_file: TokenFile = None
    json: AsJson = False

    @property
    def client(self) -> Client:
        return Client(self.transport())

    def transport(self, *, seconds: float = SECONDS) -> HttpApiTransport:
        address = server_address(self.server)
        return HttpApiTransport(address, self._token(address), seconds)

    def tell(self, value: object, sentence: str) -> None:
        """Print the result of a call: the value for scripts, a sentence for people."""
        if self.json:
            print_json(value)
        else:
            print(sentence, flush=True)

    def print_table(
        self, answer: object, items: Iterable[object], columns: Sequence[Column]
    ) -> None:
        """Print the whole answer for scripts, or a table of its items for people."""
        if self.json:
            print_json(answer)
            return
        print_table(columns, items)
        if isinstance(answer, v1.PageOf) and answer.more:
            print(f"There are more: --page {answer.page + 1}")

    def _token(self, address: str) -> str:
        if self.token_file is None:
            kept = read_logins().tokens.get(address)
            return os.environ.get(TOKEN, "").strip() or (kept.secret if kept else "")
        try:
            return self.token_file.read_text(encoding="utf-8").strip().splitlines()[-1]
        except (OSError, UnicodeDecodeError, IndexError):
            raise BadArgument(f"There is no token in {self.token_file}.") from None


THE_SERVER = ServerFlags()
"""The default: no server is named."""


def server_address(named: str) -> str:
    """Return the address of the server: the named one, else the one in the environment, else that
    of the last login."""
    found = named or os.environ.get(SERVER) or read_logins().server or THIS_MACHINE
    return found.rstrip("/")


class KeptToken(msgspec.Struct, frozen=True):
    """A stored token, and the id by which it can be revoked."""

    id: str
    secret: str
    user: str


class Logins(msgspec.Struct, frozen=True):
    """The content of the file: the server of the last login, and a token for each server."""

    server: str = ""
    tokens: dict[str, KeptToken] = {}


def logins_path() -> Path:
    return platformdirs.user_config_path("rookery") / "logins.json"


def read_logins() -> Logins:
    """Read the file. An unreadable or broken one counts as empty; commands that need a token then
    ask for a login."""
    try:
        return msgspec.json.decode(logins_path().read_bytes(), type=Logins)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Logins()


def write_logins(logins: Logins) -> None:
    file = logins_path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A temporary file is readable only by its owner from the start.
        descriptor, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(descriptor, "wb") as draft:
            draft.write(msgspec.json.format(msgspec.json.encode(logins)) + b"\n")
        Path(name).replace(file)
    except OSError as error:
        raise BadArgument(f"{file} can't be written: {error.strerror}.") from None

"""A server with an account and a run of the bundled engine, reached through a relay."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rookery.core.client.client import Client
from rookery.core.protocol import v1
from tests.commands import PASSWORD, add_user, run_command
from tests.rookery_process import RookeryProcess, copy_data, run_rookery, scratch_folder
from tests.submissions import body
from tests.workers.fake_server import FLEDGLING_BENCH
from tests.workers.relay import Relay, relayed

SOON_DRAWN = {"from_move": 1, "moves": 1, "score": 5000}
"""Games of a few moves."""
FAST: dict[str, object] = {
    "tc": "N=10",
    "draw": SOON_DRAWN,
    "new_engine": "Fledgling",
    "base_engine": "Fledgling",
    "new_signature": FLEDGLING_BENCH,
    "base_signature": FLEDGLING_BENCH,
    "new_options": "Hash=1",
    "base_options": "Hash=1",
    "book": "rookery-demo.epd",
    "book_sri": None,
}


@dataclass
class Farm:
    data: Path
    relay: Relay
    token: str
    server: RookeryProcess

    @property
    def client(self) -> Client:
        return Client.at(self.server.address, self.token)

    def submit(self, **args: object) -> str:
        """A run that workers may begin at once."""
        made = self.client.submit(body(**{**FAST, **args}))
        self.client.approve(made.id)
        return made.id

    def run(self, run_id: str) -> v1.RunDetails:
        return self.client.run(run_id)

    def games(self, run_id: str) -> int:
        return self.run(run_id).results.games

    def start_again(self) -> None:
        """Another server process on the same data, at the same address for workers."""
        self.server = RookeryProcess(("serve",), self.data)
        self.relay.target = self.server.address

    @contextmanager
    def started_again(self) -> Iterator[None]:
        """The same, for as long as it lasts."""
        self.start_again()
        try:
            yield
        finally:
            self.server.end()


@cache
def _olgas_data() -> tuple[Path, str]:
    data = scratch_folder() / "olgas"
    return data, _add_olga(data, {})


def _add_olga(data: Path, settings: Mapping[str, str]) -> str:
    add_user("olga", data, "--approver", "--machine-limit", "1000", settings=settings)
    made = run_command("token", "create", "--user", "olga", data=data, settings=settings)
    return made.stdout.splitlines()[-1]


@contextmanager
def farm(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Farm]:
    data = folder / "data"
    if settings:
        token = _add_olga(data, settings)
    else:
        source, token = _olgas_data()
        copy_data(source, data)
    (folder / "password").write_text(PASSWORD)
    with (
        run_rookery(data, settings=settings) as server,
        relayed(Relay(target=server.address)) as relay,
    ):
        yield Farm(data, relay, token, server)

"""Two servers behind the real proxies of deploy/: workers and readers of events hardly notice which
of them is primary, nor that one dies."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest

from rookery.core.client.client import Client
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.model.plan import Modification
from rookery.server.db.target import Target
from tests.acceptance.proxies import proxied
from tests.commands import run_command
from tests.faults.playing_by_hand import PlayedTask, make_token, submit_run
from tests.faults.test_events import Reading
from tests.rookery_process import LIMIT_SECONDS, SIMULATED, RookeryProcess
from tests.takeovers.test_instances import TAKEOVER_SECONDS, role_of, two_servers

WORKERS = 3
PAUSE_SECONDS = 0.1
SETTINGS = SIMULATED | {"ROOKERY_TRUSTED_PROXIES": "127.0.0.1"}
NOT_ANSWERED = (CallRefused, NoAnswer)


@dataclass(slots=True)
class Crew:
    """Workers that report without end to one address."""

    address: str
    tasks: list[PlayedTask]
    over: Event = field(default_factory=Event)
    counted: float = 0.0
    """When the latest report was sent that was counted."""

    @property
    def refused(self) -> list[str]:
        return [each for task in self.tasks for each in task.refused]

    @property
    def games(self) -> int:
        return sum(task.games for task in self.tasks)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with ThreadPoolExecutor(len(self.tasks)) as threads:
            working = [threads.submit(self._work, task) for task in self.tasks]
            try:
                yield
            finally:
                self.over.set()
            for each in working:
                each.result(LIMIT_SECONDS)

    def _work(self, task: PlayedTask) -> None:
        while not self.over.wait(PAUSE_SECONDS):
            began = time.monotonic()
            task.report(self.address)
            self.counted = max(self.counted, began)
            task.beat(self.address)

    def wait_for_reports(self, since: float) -> float:
        """Until one is counted that was sent later; gives how long that took."""
        wait_until(lambda: self.counted >= since, self.refused)
        return time.monotonic() - since


@dataclass(slots=True)
class EveryEvent:
    """A reader who comes back after the last event that it was told, as browsers do."""

    address: str
    told: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Games and priority of each run."""
    streams: int = 0
    over: Event = field(default_factory=Event)

    @contextmanager
    def read(self) -> Iterator[None]:
        Thread(target=self._read, daemon=True).start()
        try:
            yield
        finally:
            self.over.set()

    def _read(self) -> None:
        last = ""
        while not self.over.wait(PAUSE_SECONDS):
            try:
                reading = Reading(self.address, after=last)
                self.streams += 1
                while True:
                    run = reading.run()
                    last, self.told[run.id] = reading.last, (run.results.games, run.priority)
            except (*NOT_ANSWERED, StopIteration):
                continue


def wait_until(holds: Callable[[], bool], seen: object) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, seen
        time.sleep(0.01)


def insist(act: Callable[[], object]) -> None:
    """As a script that tries again until it is answered."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            act()
        except NOT_ANSWERED:
            assert time.monotonic() < deadline
            time.sleep(PAUSE_SECONDS)
        else:
            return


def place_of(server: RookeryProcess) -> str:
    return server.address.removeprefix("http://")


def step_down(folder: Path, database: Target) -> None:
    settings = {"ROOKERY_DATABASE_URL": database.dsn}
    assert run_command("step-down", data=folder, settings=settings).returncode == 0


@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_no_call_fails_when_a_primary_steps_down_and_calls_go_on_when_it_dies(
    name: str, database: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "command"
    token = make_token(command, database)
    with (
        two_servers(database, tmp_path, SETTINGS) as (first, second),
        proxied(name, tmp_path / "proxy", [place_of(first), place_of(second)]) as proxy,
        httpx.Client(timeout=LIMIT_SECONDS, verify=proxy.trust) as calls,
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
        client, run = Client.at(proxy.address, token), submit_run(proxy.address, token)
        crew = Crew(proxy.address, [PlayedTask(run, calls, f"{n:08x}") for n in range(WORKERS)])
        for task in crew.tasks:
            task.begin(proxy.address)
        other = submit_run(proxy.address, token)
        events = EveryEvent(proxy.address)
        with events.read():
            with crew.at_work():
                for primary in (second, first):
                    step_down(command, database)
                    crew.wait_for_reports(time.monotonic())
                    assert role_of(primary) == "primary"
                assert (crew.refused, events.streams) == ([], 1)
                killed = time.monotonic()
                first.kill()
                insist(lambda: client.modify(other, Modification(priority=7)))
                taken = crew.wait_for_reports(killed)
                crew.wait_for_reports(time.monotonic())
            assert taken < TAKEOVER_SECONDS
            assert client.run(run).results.games == crew.games
            due = {run: (crew.games, 0), other: (0, 7)}
            wait_until(lambda: events.told == due, events.told)
            assert events.streams == 2
    print(f"{name}: counted {taken:.1f} s after the kill; {crew.games} games; {crew.refused}")

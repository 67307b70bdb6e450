"""A run and the task of one worker; a test reports its games one call at a time to any server."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from rookery.core.client.client import Client
from rookery.core.model.task import NOTHING, Results
from rookery.server.db.target import Target
from tests.commands import PASSWORD, add_user, run_command
from tests.makers import counts
from tests.submissions import body
from tests.wire.worker.farm import stats, worker_info

NAME = "olga"
LIMIT_SECONDS = 30.0
AGAIN_SECONDS = 0.1
EVEN_PAIR = counts(wins=1, losses=1, pentanomial=(0, 0, 1, 0, 0))


@dataclass(slots=True)
class PlayedTask:
    """A task of a run. Calls without an answer are repeated, as workers do."""

    run: str
    calls: httpx.Client
    key: str = "1a2b3c4d"
    """The worker's key."""
    ids: dict[str, object] = field(default_factory=dict)
    results: Results = NOTHING
    refused: list[str] = field(default_factory=list)
    """The calls that were not answered at once."""

    @property
    def games(self) -> int:
        return self.results.games

    def report(self, server: str, pairs: int = 1) -> float:
        """Reports more games; returns the seconds until they were counted."""
        for _ in range(pairs):
            self.results += EVEN_PAIR
        began = time.monotonic()
        answer = self.call(server, "update_task", **self.ids, stats=stats(self.results))
        assert answer["task_alive"], answer
        return time.monotonic() - began

    def begin(self, server: str) -> None:
        self.call(server, "request_version")
        given = self.call(server, "request_task")
        assert given["run"]["_id"] == self.run, given
        self.ids = {"run_id": self.run, "task_id": given["task_id"]}

    def beat(self, server: str) -> None:
        self.call(server, "beat", **self.ids)

    def call(self, server: str, name: str, **more: object) -> dict[str, Any]:
        content = {
            "password": PASSWORD,
            "worker_info": worker_info(NAME, self.key, nps=6e5),
            **more,
        }
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            try:
                answer = self.calls.post(f"{server}/api/{name}", json=content)
                return dict(answer.json())
            except (httpx.HTTPError, ValueError) as error:
                self.refused.append(f"{name}: {error!r}")
            assert time.monotonic() < deadline, self.refused
            time.sleep(AGAIN_SECONDS)


def make_token(data: Path, database: Target) -> str:
    """Makes a token of an approver, who also owns the worker."""
    settings = {"ROOKERY_DATABASE_URL": database.dsn}
    add_user(NAME, data, "--approver", "--machine-limit=1000", settings=settings)
    made = run_command("token", "create", "--user", NAME, data=data, settings=settings)
    return made.stdout.splitlines()[-1]


def submit_run(server: str, token: str) -> str:
    """Submits a run that workers may begin at once."""
    client = Client.at(server, token)
    run = client.submit(body(num_games=100_000)).id
    client.approve(run)
    return run

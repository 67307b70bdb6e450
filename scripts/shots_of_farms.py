"""Seeded farms for pictures and measurements of pages: the list of pages, serving a farm, and the
values in the addresses of its pages."""

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.places import PROJECT
from tests.ports import kept_port
from tests.receivers import MailBox, open_mail_box
from tests.rookery_process import COMMAND, environment

PASSWORD = "rookery-demo-farm"
LIMIT_SECONDS = 120.0
FARMS = {
    "little": ("--runs", "4", "--machines", "3", "--history", "6"),
    "much": ("--runs", "200", "--machines", "10000", "--history", "1000"),
}
PAGES = (
    # Nothing plays on a seeded farm: after six minutes its machines count as dead.
    "/",
    "/machines",
    "/machines/{machine}",
    "/machines/{blocked}",
    "/contributors",
    "/log",
    "/errors",
    "/tests",
    "/tests?page=2",
    "/tests/new",
    "/runs/{pending}",
    "/runs/{playing}",
    "/runs/{passed}",
    "/runs/{failed}",
    "/runs/{tune}",
    "/runs/{passed}/tasks",
    "/runs/{playing}/tasks",
    "/runs/{passed}/stats",
    "/runs/{passed}/elo",
    "/runs/{passed}/games",
    "/runs/{passed}/games/{game}",
    "/runs/{passed}/compare?with={failed}",
    "/runs/{passed}/diff",
    "/tests/new?clone={passed}",
    "/machines/add",
    "/engines",
    "/engines/Stockfish",
    "/engines/Stockfish/progress",
    "/engines/Kestrel/edit",
    "/engines/new",
    "/ask",
    "/ask/{chat}",
    "/nets",
    "/upload",
    "/books",
    "/books/kestrel_1.epd",
    "/teams",
    "/teams/kestrel",
    "/repositories",
    "/users",
    "/users/birk",
    "/profile",
    "/profile/notifications",
    "/tokens",
    "/sprt",
    "/server",
    "/programs",
    "/api",
    "/docs",
    "/docs/operate",
    "/nowhere",
)
"""The pages that an approver sees."""
FOR_VISITORS = (
    *("/", "/login", "/signup", "/login/reset", "/runs/{playing}", "/machines", "/ask"),
    "/login/new-password?token={reset}",
    "/confirm?token={confirm}",
    "/unsubscribe?token={unsubscribe}",
)
NO_PAGES = frozenset(
    {
        *("/live", "/machines/live", "/log/live", "/runs/{run_id}/live", "/runs/{run_id}/elo/live"),
        *("/runs/{run_id}/recent", "/tests/live", "/live/news"),
        *("/runs/{run_id}/samples.csv", "/static/{digest}/{name}"),
        *("/theme", "/robots.txt", "/favicon.ico"),
        *("/tests/live_elo/{run_id}", "/tests/tasks/{run_id}", "/tests/stats/{run_id}"),
        *("/tests/view/{run_id}", "/tests/run", "/tests/finished", "/tests/machines", "/actions"),
        *("/contributors/monthly", "/nns", "/user", "/user_management", "/rate_limits"),
        *("/user_management/pending_count", "/rate_limits/server"),
        *("/tests/live_elo_update/{run_id}", "/tests/view/{run_id}/detail"),
        *("/tests/user/{user}", "/user/{user}", "/workers/{worker}", "/sprt_calc"),
    }
)
"""Routes that are no pages: parts of pages, files, and redirects."""


@dataclass(frozen=True, slots=True)
class ServedFarm:
    """A farm at an address, whose mail goes to a local mail server."""

    address: str
    mail: MailBox

    def find_token(self, name: str, path: str) -> str:
        """Waits for mail to somebody, and returns the token of its link."""
        pattern = re.compile(rf"{re.escape(path)}\?token=(\S+)")
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            mine = [each for each in self.mail.letters if name in str(each["to"])]
            for letter in mine:
                if found := pattern.search(letter.get_content()):
                    return found[1]
            assert time.monotonic() < deadline, f"no letter to {name} leads to {path}"
            time.sleep(0.1)


@contextmanager
def serve_farm(folder: Path, size: Sequence[str]) -> Iterator[ServedFarm]:
    """Serves a seeded farm."""
    data = str(folder / "data")
    seed = [*COMMAND, "demo", "seed", *size, "--data", data]
    subprocess.run(seed, cwd=PROJECT, env=environment(), check=True, stdout=subprocess.DEVNULL)
    with kept_port() as port, open_mail_box() as mail, (folder / "serve.log").open("w") as log:
        line = [*COMMAND, "serve", "--data", data, "--port", str(port)]
        address = f"http://127.0.0.1:{port}"
        settings = environment() | {
            "ROOKERY_BASE_URL": address,
            "ROOKERY_SMTP_HOST": "127.0.0.1",
            "ROOKERY_SMTP_PORT": str(mail.port),
            "ROOKERY_SMTP_TLS": "none",
            "ROOKERY_MAIL_FROM": "Rookery <rookery@example.org>",
            # With charts and boards, as in real use.
            "ROOKERY_FRONT_END": "1",
        }
        server = subprocess.Popen(line, cwd=PROJECT, env=settings, stdout=log, stderr=log)
        try:
            wait_until_ready(address)
            yield ServedFarm(address, mail)
        finally:
            server.terminate()
            server.wait(60)


def wait_until_ready(address: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{address}/readyz"):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def find_names(address: str) -> dict[str, str]:
    """The names of a run in each state and of two machines, for the addresses of pages."""
    runs = read_json(f"{address}/api/v1/runs?size=200")["runs"]
    over = read_json(f"{address}/api/v1/runs?state=finished&size=200")["runs"]
    names = dict.fromkeys(("pending", "playing", "passed", "failed", "tune"), "")
    for run in (*runs, *over):
        for word in states_of(run):
            names[word] = names[word] or run["id"]
    some = next((each["id"] for each in (*runs, *over)), "0" * 24)
    found = {word: name or some for word, name in names.items()}
    machines = read_json(f"{address}/api/v1/workers")["workers"]
    found["machine"] = next((each["name"] for each in machines if not each["blocked"]), "none")
    found["blocked"] = next((each["name"] for each in machines if each["blocked"]), "none")
    return found | {"game": find_game(address, found["passed"]), "chat": "0" * 32}


def find_game(address: str, run: str) -> str:
    """The first game that a run's page of games links to."""
    with urllib.request.urlopen(f"{address}/runs/{run}/games") as answer:
        links = re.findall(rf'/runs/{run}/games/(\d+/\d+)"', answer.read().decode())
    return next(iter(links), "0/0")


def find_chat(page: str) -> str:
    """The first conversation that somebody's page of Ask links to."""
    return next(iter(re.findall(r"/ask/([0-9a-f]{32})", page)), "0" * 32)


def states_of(run: dict[str, Any]) -> Iterator[str]:
    if run["state"] == "pending":
        yield "pending"
    if run["state"] == "active":
        yield "tune" if run["kind"] == "spsa" else "playing"
    if run["state"] == "finished" and run["kind"] == "sprt":
        yield "passed" if run.get("flag") == "green" else "failed"


def read_json(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address) as answer:
        found: dict[str, Any] = json.load(answer)
    return found

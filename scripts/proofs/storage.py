"""Takes S3-compatible storage away from a server under load, by kill and stop, and gives it back.

    scripts/prove storage [--workers N] [--seconds N]

The files of the server are in a real S3 server. While that is dead or says nothing, uploads of
games are to be refused in words that make a worker try again, which are printed, and nothing else
may be refused, or take longer than the printed bounds allow against the time before. Afterwards the
same uploads are taken, from the next probe of the storage on. In the end the rows are held against
the ledger, and the files against the rows.
"""

import asyncio
import subprocess
import sys
import time
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from rookery.server.farm.jobs import TICK_SECONDS
from scripts.progress import Progress
from scripts.proof import option, read_options, run_timed, tell_findings
from tests.bucket_server import CREDENTIALS, BucketServer, serve_bucket
from tests.faults.server_campaign import Campaign, campaign_on
from tests.fleet.connections import Answer, Connections, NoReply
from tests.fleet.figures import percentile
from tests.fleet.worker import Faults, Pace
from tests.places import PROJECT
from tests.rookery_process import COMMAND, environment
from tests.wire.worker.farm import GAMES, worker_info

RUNS = 6
FAULTS = Faults(games=0.1, vanish=0.0, fail=0.0, nonsense=0.0, truncated=0.0, cut=0.0)
PACE = Pace(seconds=0.3)
UPLOAD = "upload_pgn"
OTHERS = ("beat", "update_task", "request_task")
MOST_TIMES, LEAST_BOUND = 3.0, 0.25
"""The limit of the p99 of every other call while the storage is away and afterwards: a multiple of
the p99 before, or a number of seconds if that is more."""
REACTION_SECONDS = TICK_SECONDS + 8.0 + 2.0
"""The time within which uploads are accepted again: the interval of probes, the time that a probe
may wait for silent storage, and a margin for a busy machine."""
BACK = "back"
HEAD = (
    "| storage | seconds | uploads taken | uploads refused | last refused after | beats p50 / p99"
    " | updates p50 / p99 | tasks p50 / p99 | other calls refused |\n|" + "---|" * 9
)


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int = 100
    seconds: int = option(60, "how long it is away each time")


class TimedConnections(Connections):
    """Connections that note how long each call took, and which got no answer."""

    def __init__(self) -> None:
        super().__init__(most=400)
        self.begin_phase()

    def begin_phase(self) -> None:
        self.began = time.monotonic()
        self.times: defaultdict[str, array[float]] = defaultdict(lambda: array("f"))
        self.unheard: Counter[str] = Counter()
        self.last_refused = 0.0
        """The time within the phase, in seconds, at which the last refused upload was sent."""

    async def _call(self, method: str, path: str, body: bytes, client: str) -> Answer:
        name, began = path.rpartition("/")[2], time.monotonic()
        try:
            answer = await super()._call(method, path, body, client)
        except NoReply:
            self.unheard[name] += 1
            if name == UPLOAD:
                self.last_refused = max(self.last_refused, began - self.began)
            raise
        self.times[name].append(time.monotonic() - began)
        return answer

    def tell(self, storage: str) -> int:
        """Prints a line about the phase; returns how many calls other than uploads were refused."""
        others = sum(count for name, count in self.unheard.items() if name != UPLOAD)
        spans = " | ".join(self._span(name) for name in OTHERS)
        print(
            f"| {storage} | {time.monotonic() - self.began:.0f} | {len(self.times[UPLOAD]):,}"
            f" | {self.unheard[UPLOAD]:,} | {self.last_refused:.1f} s | {spans} | {others:,} |"
        )
        return others

    def slowest(self, name: str) -> float:
        """The p99 of a call in this phase."""
        return percentile(sorted(self.times[name]), 0.99)

    def _span(self, name: str) -> str:
        times = sorted(self.times[name])
        return f"{1000 * percentile(times, 0.5):.0f} / {1000 * percentile(times, 0.99):.0f} ms"


@dataclass(slots=True)
class Findings:
    """The findings to judge at the end."""

    others_refused: int = 0
    before: dict[str, float] = field(default_factory=dict)
    """The p99 of other calls while the storage is available."""
    slow: list[str] = field(default_factory=list)
    wording: list[str] = field(default_factory=list)

    def judge(self, storage: str, lines: TimedConnections) -> None:
        if not self.before:
            self.before = {name: lines.slowest(name) for name in OTHERS}
            return
        for name, before in self.before.items():
            bound = max(MOST_TIMES * before, LEAST_BOUND)
            if lines.slowest(name) > bound:
                took = f"{1000 * lines.slowest(name):.0f} ms of {1000 * bound:.0f} allowed"
                self.slow.append(f"p99 of {name} while the storage was {storage}: {took}")
        if storage == BACK and lines.last_refused > REACTION_SECONDS:
            self.slow.append(f"an upload was refused {lines.last_refused:.1f} s after its return")


async def upload_once(campaign: Campaign) -> str:
    """Uploads games as a worker does; returns the refusal, which must be a 503 without JSON."""
    account, lines = campaign.fleet.account, campaign.fleet.lines
    info = worker_info(account.name, "feedfeed", concurrency=8, nps=600_000.0)
    said: dict[str, object] = {"password": account.password, "worker_info": info}
    address = f"http://127.0.0.1:{lines.port}/api/"
    async with httpx.AsyncClient(base_url=address, timeout=30, verify=False) as client:
        task = (await client.post("request_task", json=said)).json()
        said |= {"run_id": task["run"]["_id"], "task_id": task["task_id"]}
        answer = await client.post(UPLOAD, json=said | {"pgn": GAMES, "message": ""})
        await client.post("failed_task", json=said | {"message": "enough"})
    assert answer.status_code == 503, (answer.status_code, answer.text)
    assert "json" not in answer.headers["content-type"], answer.headers
    again = f"Retry-After {answer.headers['retry-after']} s"
    return f"503, {answer.headers['content-type']}, {again}: {answer.text.strip()}"


async def play(
    campaign: Campaign, lines: TimedConnections, bucket: BucketServer, seconds: int
) -> Findings:
    """Plays the phases: storage available, dead, available, suspended, available."""
    told, found = Progress(5, "phases"), Findings()
    for number, (storage, enter, leave, span) in enumerate(
        (
            ("there", None, None, seconds / 2),
            ("killed", bucket.kill, bucket.start, seconds),
            (BACK, None, None, seconds / 2),
            ("stopped", bucket.pause, bucket.go_on, seconds),
            (BACK, None, None, seconds / 2),
        ),
        1,
    ):
        lines.begin_phase()
        if enter is not None:
            await asyncio.to_thread(enter)
        await asyncio.sleep(span)
        if leave is not None:
            found.wording.append(f"{storage}: {await upload_once(campaign)}")
            await asyncio.to_thread(leave)
        found.others_refused += lines.tell(storage)
        found.judge(storage, lines)
        told.tell(number, storage)
    return found


async def prove(wanted: Wanted, folder: Path) -> int:
    with serve_bucket(folder / "buckets") as bucket:
        settings = CREDENTIALS | {"ROOKERY_FILES_URL": bucket.url()}
        async with campaign_on(folder / "data", runs=RUNS, more=settings) as campaign:
            lines, fleet = TimedConnections(), campaign.fleet
            lines.port, lines.token = fleet.lines.port, fleet.lines.token
            fleet.lines, fleet.faults, fleet.pace = lines, FAULTS, PACE
            print(HEAD)
            async with fleet.at_work(wanted.workers, within=2):
                await asyncio.sleep(5)
                found = await play(campaign, lines, bucket, wanted.seconds)
            audit = await campaign.audit()
            return await _tell(campaign, found, audit.wrong, settings)


async def _tell(
    campaign: Campaign, found: Findings, wrong: tuple[str, ...], settings: dict[str, str]
) -> int:
    ledger = campaign.fleet.ledger
    checked = await asyncio.to_thread(
        subprocess.run,
        [*COMMAND, "files", "check", f"--data={campaign.data}"],
        cwd=PROJECT,
        env=environment(detect=False) | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    print("\nWhat a worker is told whose games are not taken:\n")
    print("\n".join(f"- {each}" for each in found.wording))
    print(
        f"\nThe storage is probed every {TICK_SECONDS:.0f} s, and one that says nothing for up to 8"
        " s; until a probe succeeds uploads are refused at once, so that none waits. That is all of"
        " the refusals after its return, which have to end within"
        f" {REACTION_SECONDS:.0f} s. Bound of the other calls: p99 at most {MOST_TIMES:.0f} times"
        f" that of the first row, or {1000 * LEAST_BOUND:.0f} ms where that is more; beyond it:"
        f" {len(found.slow)}."
    )
    print(
        f"\n{campaign.fleet.lines.calls:,} calls; {ledger.acknowledged_games():,} games"
        f" acknowledged; disagreements of rows and ledger: {len(wrong)}; calls other than uploads"
        f" that were refused: {found.others_refused}. Files and rows:\n\n```\n{checked.stdout}```"
    )
    tell_findings([*wrong, *found.slow])
    tell_findings(await asyncio.to_thread(_list_warnings, campaign))
    return int(bool(wrong or found.slow or found.others_refused or checked.returncode))


def _list_warnings(campaign: Campaign) -> list[str]:
    """The server's warnings with counts, for information."""
    events = campaign.server.events() if campaign.server else []
    told = Counter(
        f"{one['event']} {one.get('why', one.get('reason', ''))}"
        for one in events
        if one["level"] in {"warning", "error"}
    )
    return [f"{count} times {event}" for event, count in told.most_common(12)]


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))

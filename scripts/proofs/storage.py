"""Takes S3-compatible storage away from a server under load, by kill and stop, and gives it back.

    scripts/prove storage [--workers N] [--seconds N]

The files of the server are in a real S3 server. While that is dead or says nothing, uploads of
games are to be refused in words that make a worker try again, and nothing else may be; afterwards
the same uploads are taken. In the end the rows are held against the ledger, and the files against
the rows.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from tests.bucket_server import CREDENTIALS, BucketServer, serve_bucket
from tests.faults.server_campaign import Campaign, campaign_on
from tests.fleet.connections import Answer, Connections, NoReply
from tests.fleet.figures import percentile
from tests.fleet.worker import Faults, Pace
from tests.rookery_process import COMMAND, PROJECT, environment

RUNS = 6
FAULTS = Faults(games=0.1, vanish=0.0, fail=0.0, nonsense=0.0, truncated=0.0, cut=0.0)
PACE = Pace(seconds=0.3)
UPLOAD = "upload_pgn"
HEAD = (
    "| storage | seconds | uploads taken | uploads refused | beats p50 / p99 | updates p50 / p99"
    " | tasks p50 / p99 | other calls refused |\n|" + "---|" * 8
)


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int
    seconds: int


def arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="scripts/prove storage", description=__doc__)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=60, help="how long it is away each time")
    return Wanted(**vars(parser.parse_args()))


class TimedConnections(Connections):
    """Notes how long each call took, and which got no answer."""

    def __init__(self) -> None:
        super().__init__(most=400)
        self.begin_phase()

    def begin_phase(self) -> None:
        self.began = time.monotonic()
        self.times: defaultdict[str, array[float]] = defaultdict(lambda: array("f"))
        self.unheard: Counter[str] = Counter()

    async def _call(self, method: str, path: str, body: bytes, client: str) -> Answer:
        name, began = path.rpartition("/")[2], time.monotonic()
        try:
            answer = await super()._call(method, path, body, client)
        except NoReply:
            self.unheard[name] += 1
            raise
        self.times[name].append(time.monotonic() - began)
        return answer

    def tell(self, storage: str) -> int:
        """A line about the phase; gives how many calls other than uploads were refused."""
        others = sum(count for name, count in self.unheard.items() if name != UPLOAD)
        spans = " | ".join(self._span(name) for name in ("beat", "update_task", "request_task"))
        print(
            f"| {storage} | {time.monotonic() - self.began:.0f} | {len(self.times[UPLOAD]):,}"
            f" | {self.unheard[UPLOAD]:,} | {spans} | {others:,} |"
        )
        return others

    def _span(self, name: str) -> str:
        times = sorted(self.times[name])
        return f"{1000 * percentile(times, 0.5):.0f} / {1000 * percentile(times, 0.99):.0f} ms"


async def play(lines: TimedConnections, bucket: BucketServer, seconds: int) -> int:
    """There, dead, there, stopped, there; gives how many calls were wrongly refused."""
    told, wrong = Progress(5, "phases"), 0
    for number, (storage, enter, leave, span) in enumerate(
        (
            ("there", None, None, seconds / 2),
            ("killed", bucket.kill, bucket.start, seconds),
            ("back", None, None, seconds / 2),
            ("stopped", bucket.pause, bucket.go_on, seconds),
            ("back", None, None, seconds / 2),
        ),
        1,
    ):
        lines.begin_phase()
        if enter is not None:
            await asyncio.to_thread(enter)
        await asyncio.sleep(span)
        if leave is not None:
            await asyncio.to_thread(leave)
        wrong += lines.tell(storage)
        told.tell(number, storage)
    return wrong


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
                wrong = await play(lines, bucket, wanted.seconds)
            audit = await campaign.audit()
            return await _tell(campaign, wrong, audit.wrong, settings)


async def _tell(
    campaign: Campaign, refused: int, wrong: tuple[str, ...], settings: dict[str, str]
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
    print(
        f"\n{campaign.fleet.lines.calls:,} calls; {ledger.acknowledged_games():,} games"
        f" acknowledged; disagreements of rows and ledger: {len(wrong)}; calls other than uploads"
        f" that were refused: {refused}. Files and rows:\n\n```\n{checked.stdout}```"
    )
    for word in (*wrong[:20], *await asyncio.to_thread(_list_warnings, campaign)):
        print(word, file=sys.stderr)
    return int(bool(wrong or refused or checked.returncode))


def _list_warnings(campaign: Campaign) -> list[str]:
    """What the server complained of, how often, for whoever wonders."""
    events = campaign.server.events() if campaign.server else []
    told = Counter(
        f"{one['event']} {one.get('why', one.get('reason', ''))}"
        for one in events
        if one["level"] in {"warning", "error"}
    )
    return [f"{count} times {event}" for event, count in told.most_common(12)]


def main() -> int:
    wanted, began = arguments(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code = asyncio.run(prove(wanted, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())

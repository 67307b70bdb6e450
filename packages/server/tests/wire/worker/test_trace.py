"""Conversations of an official worker, said again: each answer has the same keys and types and
tells the same decision.

The exchanges beside this file were written from the contract; where a file of recorded ones is
named (see `tests.workers.official`), those are said again as well.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.run import Run
from rookery.core.protocol.runs import read_submission
from rookery.server.farm.submission import SubmissionContext
from rookery.server.identity.passwords import Passwords
from tests.makers import BOSS
from tests.people import OLGA
from tests.submissions import created
from tests.twins.sites import KEY
from tests.wire.worker.farm import ServedFarm, Worker, understood
from tests.workers.official import call_of, exchanges

pytestmark = pytest.mark.anyio

OWN = Path(__file__).with_name("trace.jsonl")
OF_OURS = {"rookery"}
KEPT = {
    "sprt": ("elo0", "elo1", "alpha", "beta", "batch_size"),
    "spsa": ("raw_params", "A", "alpha", "gamma"),
}
Exchange = dict[str, Any]


def conversations() -> dict[str, list[Exchange]]:
    found: dict[str, list[Exchange]] = {}
    own = [json.loads(line) for line in OWN.read_text().splitlines()]
    for one in (*own, *exchanges()):
        if one["method"] == "POST":
            found.setdefault(one["scenario"], []).append(one)
    return found


SAID = conversations()


def run_of(said: list[Exchange], farm: ServedFarm) -> Run:
    """The run that the conversation is about, made anew; it is somebody else's."""
    grant = next(one for one in said if "run" in one["response"])
    args = dict(grant["response"]["run"]["args"])
    games, tune = args["num_games"], args.get("spsa", {})
    for name, kept in KEPT.items():
        if name in args:
            args[name] = {key: args[name][key] for key in kept}
    for name in ("base_nets", "new_nets", "itp", "username"):
        del args[name]
    # A tune may have been made for more games than it was left with.
    args["num_games"] = 2 * tune.get("num_iter", games // 2)
    submitted = read_submission(json.dumps(args).encode())
    run = created(submitted, "owner", SubmissionContext(), now=farm.clock.now(), chance=bytes)
    return replace(run, plan=with_fields(run.plan, games=games))


async def let_in(farm: ServedFarm, body: Exchange) -> None:
    """The worker's user, with the password it shows."""
    parts, name = farm.site.parts, body["worker_info"]["username"]
    hashed = await Passwords(parts.threads, parts.clock, KEY).hash(body["password"])
    await parts.users.add(replace(OLGA, name=name, password_hash=hashed))


class Speaker:
    """Says what was said, with the names that things have here."""

    def __init__(self, farm: ServedFarm, run: Run) -> None:
        self._worker = Worker(farm.site.browser, {})
        self._run = run
        self._signature = 0

    async def say(self, exchange: Exchange) -> tuple[int, Exchange]:
        body = dict(exchange["request"])
        if "run_id" in body:
            body["run_id"] = self._run.id
        if "spsa" in body:
            body["spsa"] = body["spsa"] | {"sig": self._signature}
        answer = await self._worker.send(call_of(exchange), body)
        said = understood(answer)
        self._signature = said.get("sig", self._signature)
        return answer.status_code, said


def shape(value: Any) -> Any:
    """Keys and types; numbers are numbers, and lists of names are lists."""
    if isinstance(value, dict):
        return {key: shape(part) for key, part in value.items() if key not in OF_OURS}
    if isinstance(value, list):
        return [shape(value[0])] if value and isinstance(value[0], dict) else list
    return float if type(value) is int else type(value)


def decided(answer: Exchange) -> Exchange:
    """The values that the contract leaves no choice about: tests and tunes as they are made (11
    and 12.1), what a task is, and whether it lives. Signs are drawn by chance, not their size."""
    run = answer.get("run", {})
    args = run.get("args", {})
    return {
        "alive": answer.get("task_alive"),
        "task": answer.get("task_id"),
        "mine": run.get("my_task"),
        "sprt": args.get("sprt"),
        "spsa": args.get("spsa"),
        "sizes": [[each["name"], each["c"], each["R"]] for each in answer.get("w_params", [])],
        "apart": _distances(answer),
    }


def _distances(answer: Exchange) -> list[float]:
    """How far from each other the two engines' values are, where no limit cuts them off."""
    pairs = zip(answer.get("w_params", []), answer.get("b_params", []), strict=True)
    return [abs(new["value"] - base["value"]) for new, base in pairs]


def close(answer: Any) -> Any:
    """To compare with: numbers count as equal if they differ in the last digits alone."""
    if isinstance(answer, dict):
        return {key: close(part) for key, part in answer.items()}
    if isinstance(answer, list):
        return [close(part) for part in answer]
    return pytest.approx(answer, rel=1e-12) if isinstance(answer, float) else answer


@pytest.mark.parametrize("said", SAID.values(), ids=SAID.keys())
async def test_a_conversation_goes_the_same_way(farm: ServedFarm, said: list[Exchange]) -> None:
    await let_in(farm, said[0]["request"])
    if any(one["status"] == 200 and call_of(one) == "stop_run" for one in said):
        farm.parts.rules.trusted.add(said[0]["request"]["worker_info"]["username"])
    run = run_of(said, farm)
    await farm.parts.fleet.commands.submit(run, approver=BOSS.name)
    speaker = Speaker(farm, run)
    for exchange in said:
        status, answer = await speaker.say(exchange)
        expected = exchange["response"]
        assert status == exchange["status"], answer
        assert shape(answer) == shape(expected), exchange
        assert decided(answer) == close(decided(expected)), exchange
        farm.clock.move(seconds=1)

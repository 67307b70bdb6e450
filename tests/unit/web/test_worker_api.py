"""From the wire to the core and back."""

from dataclasses import replace
from typing import Any

import msgspec

from rookery.model.machine import WorkerInfo
from rookery.model.plan import Draw, Resign
from rookery.model.run import Run
from rookery.model.task import Task
from rookery.protocol.codec import encode
from rookery.rules.answers import Grant
from rookery.web.worker_api.calls import normalize_complaint
from rookery.web.worker_api.incoming import MachineCache, VerifiedCaller, machine_of
from rookery.web.worker_api.outgoing import Payloads, task_answer
from tests.makers import NOW, make_machine, make_plan, make_run, make_side, sprt
from tests.people import make_ada
from tests.wire.worker.farm import worker_info

CALLER = VerifiedCaller("seal", 16, "192.0.2.7", "NO", make_ada())


def info(**fields: object) -> WorkerInfo:
    return msgspec.convert(worker_info(**fields), WorkerInfo)  # type: ignore[arg-type]  # any field


def sent(run: Run) -> dict[str, object]:
    return msgspec.json.decode(bytes(Payloads().args(run, ours=True)), type=dict[str, object])


def test_a_machine_is_what_it_says_at_the_address_it_calls_from() -> None:
    machine = machine_of(info(), CALLER)
    assert machine.short_name == "wanda-8cores-1a2b3c4d"
    assert (machine.address, machine.country, machine.seal) == ("192.0.2.7", "NO", "seal")
    assert not machine.abilities.rookery
    assert msgspec.json.decode(encode(machine), type=WorkerInfo) == info()


def test_a_worker_of_ours_says_more() -> None:
    extra = {"os": "linux", "flags": ["avx2"], "tools": {"cargo": "1.80"}, "only": ["Ethereal"]}
    machine = machine_of(info(rookery=extra), CALLER)
    assert machine.abilities.rookery
    assert machine.abilities.tool_version("cargo") == (1, 80)
    assert machine.profile.only == {"Ethereal"}


def test_the_quota_counts_only_where_it_is_minded() -> None:
    near = info(near_github_api_limit=True)
    assert machine_of(near, CALLER).near_api_limit
    assert not machine_of(near, CALLER, mind_quota=False).near_api_limit


def test_a_machine_that_says_nothing_new_is_the_same_object() -> None:
    machines = MachineCache(mind_quota=True)
    first = machines.machine(info(), CALLER)
    assert machines.machine(info(), CALLER) is first
    assert machines.machine(info(nps=5.0), CALLER).nps == 5.0
    moved = CALLER._replace(address="192.0.2.8")
    assert machines.machine(info(nps=5.0), moved).address == "192.0.2.8"


def test_what_differs_from_call_to_call_makes_no_other_machine() -> None:
    machines = MachineCache(mind_quota=True)
    calls = [CALLER._replace(server=lambda: "http://localhost") for _ in range(2)]
    first, second = (machines.machine(info(), call) for call in calls)
    assert first is second


def test_machines_are_forgotten_before_there_are_too_many() -> None:
    machines = MachineCache(mind_quota=True, most=1)
    first = machines.machine(info(), CALLER)
    machines.machine(info(key="deadbeef"), CALLER)
    assert machines.machine(info(), CALLER) is not first


def test_no_null_is_sent_and_nothing_of_ours_to_a_classic_run() -> None:
    args = sent(make_run(kind=sprt(batch=3)))
    assert None not in args.values()
    assert not {"new_engine", "resign", "draw", "scaling", "variant", "new_uci"} & set(args)


def test_what_a_run_asks_beyond_fishtest_is_sent_to_those_who_know_it() -> None:
    rules: dict[str, Any] = {"resign": Resign(500, 3), "draw": Draw(40, 8, 10), "scaling": "off"}
    sides = (make_side("idea", threads=2, uci=(("Some Name", "a b"),)), make_side("base"))
    args = sent(make_run(plan=make_plan(sides=sides, **rules, variant="chess960", syzygy_men=6)))
    assert args["resign"] == {"score": 500, "moves": 3, "two_sided": False}
    assert args["draw"] == {"from_move": 40, "moves": 8, "score": 10}
    assert (args["scaling"], args["variant"], args["syzygy_men"]) == ("off", "chess960", 6)
    assert (args["new_threads"], args["new_uci"]) == (2, {"Some Name": "a b"})


def test_the_books_hash_is_sent_without_a_prefix() -> None:
    run = make_run(plan=make_plan(book="UHO.epd", book_sri="x" * 64))
    assert sent(run)["book_sri"] == "x" * 64


def test_time_odds_give_each_side_its_own_time() -> None:
    sides = (make_side("idea", tc="5+0.05"), make_side("base"))
    args = sent(make_run(plan=make_plan(sides=sides)))
    assert (args["tc"], args["new_tc"]) == ("10+0.1", "5+0.05")


def test_a_task_says_where_its_openings_start() -> None:
    task = Task("a", 41, 12_800, 480, make_machine(), NOW, NOW)
    payloads = Payloads(most=1)
    answer = msgspec.json.decode(encode(task_answer(Grant(make_run(), task), payloads)))
    assert answer["task_id"] == 41
    assert answer["run"]["my_task"]["start"] == 12_800


def test_what_a_run_is_to_workers_is_put_into_words_once_and_again_when_it_changes() -> None:
    payloads, run = Payloads(most=1), make_run()
    first = payloads.args(run, ours=False)
    assert payloads.args(run, ours=False) is first
    assert payloads.args(replace(run, plan=make_plan(games=2)), ours=False) is not first
    payloads.args(make_run("b"), ours=False)
    assert payloads.args(run, ours=False) is not first


def test_complaints_are_equal_whatever_the_compiler() -> None:
    text = "Wrong bench in stockfish-{}-old, user expected: 7 but worker got: 8"
    sha = "eb447fe60d8facdc6741ec928fbf92351a6ceb44"
    one = normalize_complaint(text.format(f"{sha}-g++_12_2_0-25b32ad706"))
    other = normalize_complaint(text.format(f"{sha}-clang++_17_0_1-0000000000"))
    assert one == other
    assert one != normalize_complaint(text.format(f"{sha}-g++").replace("got: 8", "got: 9"))
    assert normalize_complaint("anything else") == "anything else"

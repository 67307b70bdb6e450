"""What a call says of its machine, from the wire to the core."""

import msgspec

from rookery.core.model.machine import WorkerInfo
from rookery.core.protocol.codec import encode
from rookery.server.worker_api.incoming import MachineCache, VerifiedCaller, machine_of
from tests.people import make_ada
from tests.wire.worker.farm import worker_info

CALLER = VerifiedCaller("seal", 16, "192.0.2.7", "NO", make_ada())


def info(**fields: object) -> WorkerInfo:
    return msgspec.convert(worker_info(**fields), WorkerInfo)  # type: ignore[arg-type]  # any field


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


def test_all_machines_are_forgotten_to_give_their_memory_back() -> None:
    machines = MachineCache(mind_quota=True)
    first = machines.machine(info(), CALLER)
    machines.forget_all()
    assert machines.machine(info(), CALLER) is not first

"""The machine the tests run on."""

from pathlib import Path

from rookery.worker.system import ThisSystem


def test_this_machine_has_cores_and_memory() -> None:
    system = ThisSystem()
    assert system.processors() >= system.physical_cores() >= 1
    assert system.memory_mib() > 100
    assert len(system.numa_nodes()) >= 1
    assert system.host_id() == ThisSystem().host_id()


def test_a_file_is_held_by_one_alone(tmp_path: Path) -> None:
    first, second = ThisSystem(), ThisSystem()
    assert first.lock(tmp_path / "folder" / "a.lock")
    assert not second.lock(tmp_path / "folder" / "a.lock")
    assert second.lock(tmp_path / "folder" / "b.lock")
    first.release()
    assert second.lock(tmp_path / "folder" / "a.lock")
    second.release()

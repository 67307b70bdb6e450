"""The machine: processor names, versions of tools, and how much a worker may use."""

from pathlib import Path

import pytest

from rookery.worker.system import (
    AVX512,
    ICE_LAKE,
    BadAllotment,
    Cpu,
    ThisSystem,
    architecture,
    parse_cores,
    parse_memory,
)
from tests.workers.fake_system import FakeSystem

BMI2 = {"sse4_1", "popcnt", "avx2", "bmi2"}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (set[str](), "x86-64"),
        ({"ssse3", "pni"}, "x86-64-ssse3"),
        ({"pni", "popcnt"}, "x86-64-sse3-popcnt"),
        ({"sse4_1", "popcnt"}, "x86-64-sse41-popcnt"),
        (BMI2, "x86-64-bmi2"),
        (BMI2 | AVX512, "x86-64-avx512"),
        (BMI2 | AVX512 | ICE_LAKE, "x86-64-avx512icl"),
    ],
)
def test_the_best_that_the_flags_allow(flags: set[str], expected: str) -> None:
    assert architecture(Cpu("", frozenset(flags), "x86_64"), "linux") == expected


@pytest.mark.parametrize(
    ("machine", "system", "expected"),
    [
        ("arm64", "macos", "apple-silicon"),
        ("aarch64", "linux", "armv8"),
        ("AMD64", "windows", "x86-64"),
        ("vax", "linux", "unknown"),
    ],
)
def test_other_processors_have_names_too(machine: str, system: str, expected: str) -> None:
    assert architecture(Cpu("", frozenset(), machine), system) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("auto", 7), ("3", 3), ("MAX", 16), ("PHYS-1", 7), ("max/2", 8), ("PHYS*2", 16)],
)
def test_cores_are_a_number_or_an_expression(text: str, expected: int) -> None:
    assert parse_cores(text, FakeSystem()) == expected


def test_a_quota_below_the_cores_counts() -> None:
    assert parse_cores("auto", FakeSystem(cores=8, usable=4)) == 3


def test_a_machine_with_one_core_plays_on_it() -> None:
    assert parse_cores("auto", FakeSystem(cores=1, usable=1)) == 1


@pytest.mark.parametrize("text", ["0", "many", "PHYS-8", "MAX/", ""])
def test_other_words_are_no_cores(text: str) -> None:
    with pytest.raises(BadAllotment, match="write auto"):
        parse_cores(text, FakeSystem())


@pytest.mark.parametrize(
    ("text", "expected"), [("auto", 32_000), ("8000", 8000), ("MAX/2", 16_000)]
)
def test_memory_is_counted_in_mib(text: str, expected: int) -> None:
    assert parse_memory(text, FakeSystem()) == expected


def test_memory_has_no_cores() -> None:
    with pytest.raises(BadAllotment):
        parse_memory("PHYS", FakeSystem())


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

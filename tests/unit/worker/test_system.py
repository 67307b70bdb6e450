"""A processor's name in a Makefile."""

import pytest

from rookery.worker.system import AVX512, ICE_LAKE, Cpu, architecture

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

"""Programs that a build needs, and the machine as programs see it."""

import pytest

from rookery.core.model.engine import ToolRecord
from rookery.worker.engines.toolchain import FoundTool, best_architecture, host_identity, read_tool


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("g++", ToolRecord("g++")),
        ("clang++>=14.0.0", ToolRecord("clang++", "14.0.0")),
        ("cargo >= 1.70", ToolRecord("cargo", "1.70")),
    ],
)
def test_a_least_version_may_follow_the_name(text: str, wanted: ToolRecord) -> None:
    assert read_tool(text) == wanted


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("g++ (Debian 12.2.0-14) 12.2.0", (12, 2, 0)),
        ("GNU Make 4.3", (4, 3)),
        ("cargo 1.95.0 (f2d3ce0bd 2026-03-21)", (1, 95, 0)),
        ("no numbers", ()),
    ],
)
def test_a_version_is_read_from_what_a_program_says(says: str, version: tuple[int, ...]) -> None:
    assert FoundTool("any", "/usr/bin/any", says).version == version


def test_a_machine_knows_itself_again() -> None:
    assert host_identity() == host_identity()


def test_an_old_makefile_gets_an_architecture_that_it_knows() -> None:
    known = "x86-64 armv8 ppc-64 riscv64 loongarch64 apple-silicon armv7 x86-32 e2k"
    assert best_architecture(known) in known.split()

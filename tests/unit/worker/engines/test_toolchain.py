"""Programs a build needs, by name and version."""

import pytest

from rookery.model.engine import ToolRecord
from rookery.worker.engines.toolchain import FoundTool, read_tool


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

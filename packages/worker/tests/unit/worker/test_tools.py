"""The tools that a worker reports, and what they make it eligible for."""

from dataclasses import replace
from pathlib import Path

import pytest

from rookery.core.model.engine import EngineRecord, RecipeRecord
from rookery.worker.identity import WorkerIdentity, WorkerOffer, check_engines
from rookery.worker.tools import find_version, tool_versions, version_triple
from tests.workers.in_process import FACTS


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("g++ (Debian 12.2.0-14) 12.2.0\nCopyright", "12.2.0"),
        ("gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", "11.4.0"),
        ("Ubuntu clang version 14.0.0-1ubuntu1.1\nTarget: x86_64-pc-linux-gnu", "14.0.0"),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", "15.0.0"),
        ("GNU Make 4.3\nBuilt for x86_64", "4.3"),
        ("cargo 1.79.0 (ffa9cf99a 2024-06-03)", "1.79.0"),
        ("git version 2.39.5", "2.39.5"),
        ("go version go1.22.1 linux/amd64", "1.22.1"),
        ("0.12.0-dev.2063+804cee3b9", "0.12.0"),
        ("v20.11.0", "20.11.0"),
        ('openjdk version "17.0.9" 2023-10-17', "17.0.9"),
        ('openjdk version "21" 2023-09-19\nOpenJDK Runtime (build 21+35-2513)', "21"),
        ("javac 21", "21"),
        ("info: kotlinc-jvm 1.9.21 (JRE 17.0.9+9)", "1.9.21"),
        ("This is perl 5, version 36, subversion 0 (v5.36.0) built for", "5.36.0"),
        ("no version at all", ""),
    ],
)
def test_a_version_is_found_in_what_a_tool_says(said: str, expected: str) -> None:
    assert find_version(said) == expected


def test_a_version_has_three_numbers() -> None:
    assert (version_triple("4.3"), version_triple("12.2.0.1"), version_triple("")) == (
        (4, 3, 0),
        (12, 2, 0),
        (0, 0, 0),
    )


SCRIPTS = {
    "gcc": 'test "$1" = --version && echo "gcc (Debian 12.2.0-14) 12.2.0"',
    "clang++-17": 'test "$1" = --version && echo "clang version 17.0.6"',
    "zig": 'test "$1" = version && echo 0.11.0',
    "dotnet": 'test "$1" = --version && echo 8.0.100',
    "java": """test "$1" = -version && echo 'openjdk version "17.0.9"' >&2""",
    "node": 'test "$1" = --version && echo v20.11.0',
    "python3": 'test "$1" = --version && echo Python 3.11.2',
    "cargo": "echo no toolchain is installed >&2; exit 1",
    "notepad": "echo 1.0",
}


@pytest.fixture
def path_of_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a machine on which only these programs are installed."""
    for name, script in SCRIPTS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("path_of_tools")
def test_every_tool_that_a_record_can_name_is_reported_with_its_version() -> None:
    assert tool_versions() == {
        "gcc": "12.2.0",
        "clang++-17": "17.0.6",
        "zig": "0.11.0",
        "dotnet": "8.0.100",
        "java": "17.0.9",
        "node": "20.11.0",
        "python3": "3.11.2",
    }


TOOLS = {"make": "4.3", "gcc": "12.2.0", "java": "17.0.9"}


def test_the_doctor_asks_for_the_compilers_that_the_recipe_names() -> None:
    only_gcc = replace(FACTS, tools=TOOLS)
    identity = WorkerIdentity(WorkerOffer("olga", 1, 8000), only_gcc, "key")
    records = [
        EngineRecord(name="Weiss", recipe=RecipeRecord(compilers=("gcc >= 9",))),
        EngineRecord(name="Willow", recipe=RecipeRecord(compilers=("clang++", "g++"))),
        EngineRecord(name="Any"),
    ]
    assert [each.why_not for each in check_engines(records, identity)] == [
        "",
        "a compiler is missing: clang++ or g++",
        "",
    ]

"""What a machine can play, and why not."""

from dataclasses import replace

import pytest

from rookery.core.model.engine import FLEDGLING, STOCKFISH, EngineRecord, RecipeRecord, ToolRecord
from rookery.worker.identity import WorkerIdentity, WorkerOffer, check_engines
from tests.workers.in_process import FACTS


def machine(memory: int = 8000, **tools: str) -> WorkerIdentity:
    named = {name.replace("gpp", "g++"): version for name, version in tools.items()}
    return WorkerIdentity(WorkerOffer("olga", 4, memory), replace(FACTS, tools=named), "key")


def why_not(record: EngineRecord, identity: WorkerIdentity) -> str:
    return next(iter(check_engines([record], identity))).why_not


def test_a_machine_with_tools_can_build() -> None:
    assert why_not(STOCKFISH, machine(make="4.3", gpp="12.2.0")) == ""


def test_the_bundled_engine_needs_nothing() -> None:
    assert why_not(FLEDGLING, machine()) == ""


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (STOCKFISH, "a compiler is missing: g++ or clang++"),
        (EngineRecord(name="R", recipe=RecipeRecord(kind="cargo")), "cargo is missing"),
        (
            EngineRecord(name="I", recipe=RecipeRecord(kind="installed", output="no-such -x")),
            "the command no-such is missing",
        ),
        (
            EngineRecord(
                name="T",
                recipe=RecipeRecord(kind="commands"),
                tools=(ToolRecord("make", "5"),),
            ),
            "the tool make 5 is missing or too old",
        ),
        (
            EngineRecord(name="S", recipe=RecipeRecord(kind="commands"), systems=("windows",)),
            "the engine is not for this operating system (windows)",
        ),
    ],
)
def test_what_is_missing_is_said(record: EngineRecord, expected: str) -> None:
    assert why_not(record, machine(make="4.3")) == expected


def test_without_a_sandbox_only_the_bundled_engine_can_be_played() -> None:
    bare = machine(make="4.3", gpp="12")
    bare.bundled_only = True
    assert why_not(FLEDGLING, bare) == ""
    assert "--without-sandbox" in why_not(STOCKFISH, bare)


def test_memory_may_be_missing_too() -> None:
    assert "MiB of 500" in why_not(STOCKFISH, machine(memory=500, make="4.3", gpp="12"))

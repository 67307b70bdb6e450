"""Orders become engines: installed, uploaded, and built from a repository."""

import asyncio
import hashlib
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rookery.boundary.offload import Threads
from rookery.protocol.engine_record import (
    BenchRecord,
    EngineRecord,
    RecipeRecord,
)
from rookery.worker.engines.bench import WrongBench, bench
from rookery.worker.engines.order import BenchFailed, BuildFailed, Built, NotOffered, Order
from rookery.worker.engines.workshop import Workshop
from tests.engines import repositories
from tests.engines.repositories import Repository

MAKE = EngineRecord(name="Tiny")
OURS = EngineRecord(
    name="Fledgling", recipe=RecipeRecord(kind="installed", output="rookery-fledgling")
)


@dataclass(slots=True)
class Shelf:
    """Downloads from memory, counted."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def net(self, name: str, into: Path) -> None:
        await self._give(name, into)

    async def binary(self, sha256: str, into: Path) -> None:
        await self._give(sha256, into)

    async def source(self, repository: str, commit: str, into: Path) -> None:
        await self._give(f"{repository}@{commit}", into)

    async def _give(self, name: str, into: Path) -> None:
        if name not in self.files:
            raise NotOffered
        self.asked.append(name)
        await Threads().io(into.write_bytes, self.files[name])


@pytest.fixture
def tiny(tmp_path: Path) -> Repository:
    return repositories.openbench(tmp_path / "tiny")


def make(cache: Path, order: Order, shelf: Shelf | None = None) -> Built:
    return asyncio.run(Workshop(cache, shelf).make(order))


def order_of(repository: Repository, record: EngineRecord = MAKE, **more: object) -> Order:
    return Order(record, repository.commit, repository.url, **more)  # type: ignore[arg-type]  # fields by name


def failure(cache: Path, order: Order, shelf: Shelf | None = None) -> BuildFailed:
    with pytest.raises(BuildFailed) as failed:
        make(cache, order, shelf)
    return failed.value


def test_an_engine_is_built_from_a_local_repository(tmp_path: Path, tiny: Repository) -> None:
    built = make(tmp_path / "cache", order_of(tiny))
    assert built.digest == hashlib.sha256(Path(built.command[0]).read_bytes()).hexdigest()
    measured = asyncio.run(bench(built, MAKE, slots=2, signature=4242))
    assert measured.nodes == 4242
    assert measured.nps == 1_000_000


def test_the_bundled_engine_needs_no_building(tmp_path: Path) -> None:
    built = make(tmp_path / "cache", Order(OURS, "", ""))
    assert built.command == (sys.executable, "-m", "rookery.engine")


def test_an_uploaded_program_is_known_by_its_hash(tmp_path: Path, tiny: Repository) -> None:
    program = Path(make(tmp_path / "one", order_of(tiny)).command[0]).read_bytes()
    digest = hashlib.sha256(program).hexdigest()
    shelf = Shelf({digest: program})
    order = Order(MAKE, "", "", binary=digest)
    built = make(tmp_path / "two", order, shelf)
    assert built.digest == digest
    make(tmp_path / "two", order, shelf)
    assert shelf.asked == [digest]


def test_an_uploaded_program_with_another_content_is_refused(tmp_path: Path) -> None:
    digest = "0" * 64
    failed = failure(tmp_path, Order(MAKE, "", "", binary=digest), Shelf({digest: b"other"}))
    assert "another content" in failed.sentence


def test_a_wrong_bench_is_told_with_both_numbers(tmp_path: Path, tiny: Repository) -> None:
    built = make(tmp_path / "cache", order_of(tiny))
    with pytest.raises(WrongBench, match="is 4242, and should be 4243"):
        asyncio.run(bench(built, MAKE, slots=1, signature=4243))


def test_a_bench_that_hangs_is_ended(tmp_path: Path) -> None:
    record = EngineRecord(name="Sleeper", bench=BenchRecord(command="60"))
    with pytest.raises(BenchFailed, match="did not end within"):
        asyncio.run(bench(Built(("sleep",), ""), record, slots=1, seconds=0.2))


def test_a_program_that_is_no_engine_is_the_runs_fault(tmp_path: Path) -> None:
    script = b"#!/bin/sh\necho hello\n"
    digest = hashlib.sha256(script).hexdigest()
    failed = failure(tmp_path, Order(MAKE, "", "", binary=digest), Shelf({digest: script}))
    assert "no UCI engine" in failed.sentence
    assert "hello" in failed.log
    assert failed.whose == "run"

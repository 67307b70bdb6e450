"""Orders become engines: installed, uploaded, and built from a repository."""

import asyncio
import hashlib
import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from rookery.core.model.engine import BenchRecord, EngineRecord, NetRecord, RecipeKind, RecipeRecord
from rookery.worker.engines.bench import bench
from rookery.worker.engines.orders import BenchFailed, BuildFailed, EngineOrder
from rookery.worker.engines.workshop import Workshop
from rookery.worker.sandbox.sandbox import BuiltEngine, Sandbox
from tests.engines import repositories
from tests.engines.downloads import MemoryDownloads
from tests.engines.repositories import Repository

SANDBOX = Sandbox(True)
MAKE = EngineRecord(name="Tiny")
OURS = EngineRecord(
    name="Fledgling", recipe=RecipeRecord(kind="installed", output="rookery-fledgling")
)


@pytest.fixture
def tiny(tmp_path: Path) -> Repository:
    return repositories.openbench(tmp_path / "tiny")


def make(cache: Path, order: EngineOrder, downloads: MemoryDownloads | None = None) -> BuiltEngine:
    workshop = Workshop(cache, downloads, sandbox=SANDBOX, private_sources=True)
    return asyncio.run(workshop.make(order))


def order_of(
    repository: Repository, record: EngineRecord = MAKE, nets: tuple[str, ...] = ()
) -> EngineOrder:
    return EngineOrder(record, repository.commit, repository.url, nets=nets)


def failure(
    cache: Path, order: EngineOrder, downloads: MemoryDownloads | None = None
) -> BuildFailed:
    with pytest.raises(BuildFailed) as failed:
        make(cache, order, downloads)
    return failed.value


def test_an_engine_is_built_from_a_local_repository(tmp_path: Path, tiny: Repository) -> None:
    built = make(tmp_path / "cache", order_of(tiny))
    assert built.digest == hashlib.sha256(Path(built.command[0]).read_bytes()).hexdigest()
    measured = asyncio.run(bench(built, MAKE, slots=2, signature=4242))
    assert measured.nodes == 4242
    assert measured.nps == 1_000_000


def test_the_bundled_engine_needs_no_building(tmp_path: Path) -> None:
    built = make(tmp_path / "cache", EngineOrder(OURS, "", ""))
    assert built.command == (sys.executable, "-m", "rookery.match.fledgling")


def test_an_uploaded_program_is_known_by_its_hash(tmp_path: Path, tiny: Repository) -> None:
    program = Path(make(tmp_path / "one", order_of(tiny)).command[0]).read_bytes()
    digest = hashlib.sha256(program).hexdigest()
    downloads = MemoryDownloads({digest: program})
    order = EngineOrder(MAKE, "", "", binary=digest)
    built = make(tmp_path / "two", order, downloads)
    assert built.digest == digest
    make(tmp_path / "two", order, downloads)
    assert downloads.asked == [digest]


def test_an_uploaded_program_with_another_content_is_refused(tmp_path: Path) -> None:
    digest = "0" * 64
    failed = failure(
        tmp_path, EngineOrder(MAKE, "", "", binary=digest), MemoryDownloads({digest: b"other"})
    )
    assert "does not match its hash" in failed.sentence


def test_a_wrong_bench_is_told_with_both_numbers(tmp_path: Path, tiny: Repository) -> None:
    built = make(tmp_path / "cache", order_of(tiny))
    with pytest.raises(BenchFailed, match="is 4242, but should be 4243"):
        asyncio.run(bench(built, MAKE, slots=1, signature=4243))


def test_a_record_that_wants_a_sandbox_is_refused_without_one(tmp_path: Path) -> None:
    order = EngineOrder(msgspec.structs.replace(OURS, sandboxed=True), "", "")
    workshop = Workshop(tmp_path, sandbox=Sandbox(False, "No namespaces here."))
    with pytest.raises(BuildFailed, match=r"in a sandbox only\. No namespaces here\."):
        asyncio.run(workshop.make(order))


def test_a_record_with_a_nul_is_refused(tmp_path: Path) -> None:
    failed = failure(tmp_path, EngineOrder(recipe("installed", output="sh\0"), "", ""))
    assert failed.sentence == "The record of Tiny has a NUL character."


def test_a_bench_command_with_an_open_quote_is_refused() -> None:
    record = EngineRecord(name="Any", bench=BenchRecord(command="bench 'open"))
    with pytest.raises(BenchFailed, match="quote without an end"):
        asyncio.run(bench(BuiltEngine(("true",), ""), record, slots=1))


def test_a_bench_that_hangs_is_ended(tmp_path: Path) -> None:
    record = EngineRecord(name="Sleeper", bench=BenchRecord(command="60"))
    with pytest.raises(BenchFailed, match="did not end within"):
        asyncio.run(bench(BuiltEngine(("sleep",), ""), record, slots=1, seconds=0.2))


def test_a_program_that_is_no_engine_is_the_runs_fault(tmp_path: Path) -> None:
    script = b"#!/bin/sh\necho hello\n"
    digest = hashlib.sha256(script).hexdigest()
    failed = failure(
        tmp_path, EngineOrder(MAKE, "", "", binary=digest), MemoryDownloads({digest: script})
    )
    assert "not a UCI engine" in failed.sentence
    assert "hello" in failed.log
    assert failed.blame == "run"


def recipe(kind: RecipeKind, **more: object) -> EngineRecord:
    return msgspec.convert({"name": "Tiny", "recipe": {"kind": kind, **more}}, EngineRecord)


def bench_of(built: BuiltEngine, record: EngineRecord = MAKE) -> int:
    return asyncio.run(bench(built, record, slots=1)).nodes


def test_an_engine_is_built_in_stockfishs_way_with_its_net_fetched_before(tmp_path: Path) -> None:
    name, data = net(b"weights")
    repository = repositories.stockfish(tmp_path / "fish", name)
    record = msgspec.structs.replace(recipe("stockfish"), nets=NetRecord(use="embedded"))
    built = make(
        tmp_path / "cache", order_of(repository, record, (name,)), MemoryDownloads({name: data})
    )
    assert bench_of(built) == 4242


def test_an_engine_is_built_by_cmake(tmp_path: Path) -> None:
    repository = repositories.cmake(tmp_path / "tiny")
    assert bench_of(make(tmp_path / "cache", order_of(repository, recipe("cmake")))) == 4242


def test_an_engine_is_built_by_its_own_commands(tmp_path: Path, tiny: Repository) -> None:
    record = recipe("commands", commands=["cc -O1 -DBENCH=7 tiny.c -o made"], output="made")
    assert bench_of(make(tmp_path / "cache", order_of(tiny, record))) == 7


def test_the_servers_archive_serves_as_a_source(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("tiny-1/Makefile", repositories.OPENBENCH_MAKEFILE)
        archive.writestr("tiny-1/tiny.c", repositories.TINY)
    source = Repository("https://rookery.example/src/tiny", "0" * 40)
    downloads = MemoryDownloads({f"{source.url}@{source.commit}": packed.getvalue()})
    assert bench_of(make(tmp_path / "cache", order_of(source), downloads)) == 4242


def test_a_commit_is_built_once_whichever_way_it_comes(tmp_path: Path) -> None:
    # The moment of the build is part of the program.
    files = {"Makefile": "EXE = x\nall:\n\tcc tiny.c -DBENCH=1$$(date +%N) -o $(EXE)\n"}
    source = repositories.repository(tmp_path / "tiny", {**files, "tiny.c": repositories.TINY})
    (tmp_path / "tiny" / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tiny" / "run.sh").chmod(0o755)
    commit = repositories.commit(tmp_path / "tiny")
    packed = tmp_path / "tiny.zip"
    repositories.git(tmp_path / "tiny", "archive", "--prefix=tiny-1/", f"--output={packed}", commit)
    mirrored = Repository("https://rookery.example/src/tiny", commit)
    downloads = MemoryDownloads({f"{mirrored.url}@{commit}": packed.read_bytes()})
    by_git = make(tmp_path / "cache", order_of(Repository(source.url, commit)))
    assert make(tmp_path / "cache", order_of(mirrored), downloads) == by_git


def test_submodules_come_with_the_commit(tmp_path: Path, tiny: Repository) -> None:
    outer = tmp_path / "outer"
    repositories.repository(outer, {"README": "see inner"})
    allowed = ("-c", "protocol.file.allow=always")
    repositories.git(outer, *allowed, "submodule", "add", "--quiet", tiny.url, "inner")
    source = Repository(str(outer), repositories.commit(outer))
    built = make(tmp_path / "cache", order_of(source, recipe("make", directory="inner")))
    assert bench_of(built) == 4242


def test_several_nets_reach_the_build_by_its_variables(tmp_path: Path, tiny: Repository) -> None:
    first, second = net(b"first"), net(b"second")
    record = msgspec.structs.replace(
        MAKE, nets=NetRecord(use="build_variable", name="EVALFILE,BIG")
    )
    order = order_of(tiny, record, (first[0], second[0]))
    built = make(tmp_path / "cache", order, MemoryDownloads(dict((first, second))))
    assert first[0] in subprocess.check_output((*built.command, "bench"), text=True)


def test_nets_of_any_name_are_handed_over_by_uci_option(tmp_path: Path, tiny: Repository) -> None:
    data = b"weights of any name"
    name = f"{hashlib.sha256(data).hexdigest()}.bin"
    record = msgspec.structs.replace(MAKE, nets=NetRecord(use="uci_option", name="EvalFile"))
    built = make(tmp_path / "cache", order_of(tiny, record, (name,)), MemoryDownloads({name: data}))
    ((option, path),) = built.options
    assert (option, Path(path).read_bytes()) == ("EvalFile", data)
    assert Path(path) in built.readable


def test_a_side_that_names_no_net_plays_with_that_of_the_record(
    tmp_path: Path, tiny: Repository
) -> None:
    name, data = net(b"weights")
    nets = NetRecord(use="uci_option", default=name)
    order = order_of(tiny, msgspec.structs.replace(MAKE, nets=nets))
    ((option, path),) = make(tmp_path / "cache", order, MemoryDownloads({name: data})).options
    assert (option, Path(path).read_bytes()) == ("EvalFile", data)


def test_a_machine_without_the_compilers_of_the_record_builds_nothing(
    tmp_path: Path, tiny: Repository
) -> None:
    record = recipe("make", compilers=("no-such-cc", "nor-this-one"))
    failed = failure(tmp_path, order_of(tiny, record))
    assert failed.sentence == "This machine has none of no-such-cc, nor-this-one."


def test_a_net_with_another_content_than_its_name_says_is_refused(tmp_path: Path) -> None:
    name, _ = net(b"right")
    failed = failure(
        tmp_path, EngineOrder(OURS, "", "", nets=(name,)), MemoryDownloads({name: b"wrong"})
    )
    assert "does not match its name" in failed.sentence


def test_a_build_is_kept_and_taken_again(tmp_path: Path, tiny: Repository) -> None:
    order = order_of(tiny)
    first = make(tmp_path / "cache", order)
    shutil.rmtree(tiny.url)
    assert make(tmp_path / "cache", order) == first


def test_a_spoilt_program_in_the_cache_is_built_again(tmp_path: Path, tiny: Repository) -> None:
    first = make(tmp_path / "cache", order_of(tiny))
    Path(first.command[0]).write_bytes(b"spoilt")
    second = make(tmp_path / "cache", order_of(tiny))
    assert bench_of(second) == 4242


def test_two_workers_at_one_cache_build_once(tmp_path: Path) -> None:
    source = repositories.repository(tmp_path / "tiny", {"tiny.c": repositories.TINY})
    # The moment of the build is part of the program.
    stamp = "cc tiny.c -DBENCH=1$(date +%N) -o made"
    order = order_of(source, recipe("commands", commands=[stamp], output="made"))

    async def both() -> list[BuiltEngine]:
        shops = [
            Workshop(tmp_path / "cache", sandbox=SANDBOX, private_sources=True) for _ in range(2)
        ]
        return await asyncio.gather(*(shop.make(order) for shop in shops))

    assert len(set(asyncio.run(both()))) == 1


def net(data: bytes) -> tuple[str, bytes]:
    """A net by the name that tells the head of its hash."""
    return f"nn-{hashlib.sha256(data).hexdigest()[:12]}.nnue", data

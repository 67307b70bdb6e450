"""`rookery engine add` ends with a playable engine, or with one sentence on what is missing."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from rookery.cli.main import main
from rookery.core.client.client import Client
from rookery.core.model.engine import EngineRecord
from tests.engines import repositories
from tests.wire.app_under_test import KNOWN_TOKEN
from tests.wire.processes import running_server


def added(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> EngineRecord:
    code = main(["engine", "add", *words, "--cache", str(tmp_path / "cache")])
    said = capsys.readouterr()
    assert code == 0, said.err
    return msgspec.json.decode(said.out, type=EngineRecord)


def missing(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> str:
    code = main(["engine", "add", *words, "--cache", str(tmp_path / "cache")])
    said = capsys.readouterr()
    assert (code, said.out) == (4, "")
    return said.err.strip().splitlines()[-1]


def test_an_engine_with_openbenchs_makefile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    file = tmp_path / "record.json"
    record = added(capsys, tmp_path, source.url, "--write", str(file))
    assert (record.name, record.source) == ("tiny", source.url)
    assert (record.recipe.kind, record.recipe.compilers) == ("make", ("gcc", "clang"))
    assert (record.nets.use, record.nets.name) == ("build_variable", "EVALFILE")
    assert record.speed.reference == 1_000_000
    assert (tmp_path / "cache" / "sources").is_dir()
    assert record.bench.must_match
    assert msgspec.json.decode(file.read_bytes(), type=EngineRecord) == record


def test_an_engine_with_stockfishs_makefile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nets").mkdir()
    name = f"nn-{hashlib.sha256(b'weights').hexdigest()[:12]}.nnue"
    (tmp_path / "nets" / name).write_bytes(b"weights")
    source = repositories.stockfish(tmp_path / "fish", name, bench="Nodes searched  : 7")
    nets = ("--nets", str(tmp_path / "nets"))
    record = added(capsys, tmp_path, f"file://{source.url}", "--name", "Fish", *nets)
    assert (record.name, record.recipe.kind, record.recipe.directory) == (
        "Fish",
        "stockfish",
        "src",
    )
    assert record.nets.use == "embedded"


def test_an_engine_in_rust_or_the_word_that_there_is_no_cargo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = repositories.cargo(tmp_path / "rusty")
    found = shutil.which("cargo")
    if found and subprocess.run((found, "--version"), check=False).returncode == 0:
        assert added(capsys, tmp_path, source.url).recipe.kind == "cargo"
    else:
        trouble = "does not start" if found else "is not installed"
        assert f"cargo {trouble}" in missing(capsys, tmp_path, source.url)


def test_a_plain_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    subprocess.run(("make", "-s", "EXE=engine"), cwd=source.url, check=True)
    record = added(capsys, tmp_path, f"{source.url}/engine", "--team", "Nest")
    assert (record.recipe.kind, record.recipe.output) == ("installed", f"{source.url}/engine")
    assert (record.nets.use, record.nets.name, record.team) == ("uci_option", "EvalFile", "Nest")


def test_the_version_that_is_named_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    repositories.git(tmp_path / "tiny", "branch", "playable")
    (tmp_path / "tiny" / "tiny.c").write_text("#error work in progress\n")
    repositories.commit(tmp_path / "tiny")
    assert "work in progress" in missing_log(capsys, tmp_path, source.url)
    assert added(capsys, tmp_path, source.url, "--ref=playable").recipe.kind == "make"


def missing_log(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> str:
    assert main(["engine", "add", *words, "--cache", str(tmp_path / "cache")]) == 4
    return capsys.readouterr().err


def test_an_engine_is_put_on_the_server_and_replaced_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    subprocess.run(("make", "-s", "EXE=engine"), cwd=source.url, check=True)
    with running_server(tmp_path) as server:
        monkeypatch.setenv("ROOKERY_SERVER", server.address)
        monkeypatch.setenv("ROOKERY_TOKEN", KNOWN_TOKEN.secret)
        client = Client.at(server.address, KNOWN_TOKEN.secret)
        client.create_team("nest")
        words = (f"{source.url}/engine", "--name=Wren", "--team=nest")
        added(capsys, tmp_path, *words)
        assert "Wren" not in [record.name for record in client.engines().engines]
        added(capsys, tmp_path, *words, "--put")
        assert client.engine("Wren").team == "nest"
        again = ["engine", "add", *words, "--put", f"--cache={tmp_path / 'cache'}"]
        assert main(again) == 3
        assert main([*again, "--replace=Wren"]) == 0
        assert len(client.engine_versions("Wren").versions) == 2


def test_a_folder_without_history_is_taken_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = repositories.openbench(tmp_path / "tiny")
    shutil.rmtree(tmp_path / "tiny" / ".git")
    assert added(capsys, tmp_path, source.url).source == source.url


def test_a_source_without_a_known_recipe_is_told_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = repositories.repository(tmp_path / "odd", {"engine.bas": "10 PRINT"})
    assert "no Makefile with EXE" in missing(capsys, tmp_path, source.url)


def test_an_engine_without_a_bench_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mute = repositories.TINY.replace('"net %s\\n%d nodes 1000000 nps\\n", net, BENCH', '"done"')
    files = {"Makefile": repositories.OPENBENCH_MAKEFILE, "tiny.c": mute}
    source = repositories.repository(tmp_path / "mute", files)
    assert "workers need a bench and it has none" in missing(capsys, tmp_path, source.url)


def test_a_program_that_is_no_engine_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "is not a UCI engine" in missing(capsys, tmp_path, "/bin/true")


def test_an_address_with_nothing_behind_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = missing(capsys, tmp_path, f"file://{tmp_path}/nowhere")
    assert said == f"rookery: There is no git repository at file://{tmp_path}/nowhere."


def test_engines_of_openbench_are_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "Winter.json"
    presets = {"default": {"book_name": "Pohl.epd", "workload_size": 8}}
    file.write_bytes(
        msgspec.json.encode({"source": "https://x.example/w", "test_presets": presets})
    )
    assert main(["engine", "import", str(file), "--write", str(tmp_path / "records")]) == 0
    said = capsys.readouterr().err
    assert "Winter: a recipe and 1 presets." in said
    assert "Winter: not mapped: preset default: workload_size = 8." in said
    written = (tmp_path / "records" / "Winter.json").read_bytes()
    assert msgspec.json.decode(written, type=EngineRecord).presets[0].settings == {
        "book": "Pohl.epd"
    }

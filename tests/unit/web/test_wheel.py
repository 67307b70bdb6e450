"""The wheel that a server carries."""

import ast
import io
import re
import shutil
import zipfile
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from rookery.cli import main
from rookery.web.wheel import (
    DATA,
    PACKAGE,
    REQUIREMENTS,
    Wheel,
    find_imports,
    modules_of,
    own_wheel,
    pack_wheel,
    worker_files,
    worker_wheel,
)

SERVER_ROOMS = frozenset({"app", "db", "farm", "files", "pages", "people", "sources", "web"})


@cache
def own_files() -> dict[str, bytes]:
    return worker_files(PACKAGE)


@cache
def nodes_of(source: bytes) -> tuple[ast.AST, ...]:
    """All nodes of a module; parsed once for several tests."""
    return tuple(ast.walk(ast.parse(source)))


def names(wheel: Wheel) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as made:
        return made.namelist()


def modules_in_texts(source: bytes) -> set[str]:
    """Whatever texts of a module name that could be a module of ours."""
    texts = (node.value for node in nodes_of(source) if isinstance(node, ast.Constant))
    return {
        word
        for text in texts
        if isinstance(text, str)
        for word in re.findall(r"\brookery(?:\.\w+)+", text)
    }


def parsed_imports(source: bytes) -> Iterator[str]:
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            assert not node.level
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_equal_files_make_equal_wheels() -> None:
    files = {"rookery/b.py": b"b", "rookery/a.py": b"a"}
    assert pack_wheel(files, "1") == pack_wheel(dict(reversed(files.items())), "1")


def test_another_file_makes_another_wheel() -> None:
    assert (
        pack_wheel({"rookery/a.py": b"a"}, "1").sha256
        != pack_wheel({"rookery/a.py": b"b"}, "1").sha256
    )


def test_a_wheel_lists_its_files_with_their_hashes() -> None:
    made = pack_wheel({"rookery/a.py": b"a"}, "1.2", ("msgspec>=0.19",))
    with zipfile.ZipFile(io.BytesIO(made.content)) as opened:
        record = opened.read("rookery-1.2.dist-info/RECORD").decode()
        metadata = opened.read("rookery-1.2.dist-info/METADATA").decode()
    assert "rookery/a.py,sha256=ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs,1\n" in record
    assert "Requires-Dist: msgspec>=0.19\n" in metadata
    assert made.name == "rookery-1.2-py3-none-any.whl"


def test_our_own_holds_what_workers_start_and_its_locked_requirements() -> None:
    found = names(own_wheel())
    assert "rookery/cli/worker.py" in found
    assert "rookery/worker/renewal/probation.py" in found
    assert "rookery/worker/renewal/requirements.txt" in found
    assert "rookery/books/rookery-demo.epd" in found


def test_our_own_holds_nothing_of_the_server() -> None:
    packed = [name.split("/") for name in own_files()]
    assert not [words for words in packed if words[1] in SERVER_ROOMS]
    others = {"/".join(words) for words in packed if not words[-1].endswith(".py")}
    assert others == {REQUIREMENTS, *DATA}


def test_whatever_a_worker_starts_by_name_is_in_its_wheel() -> None:
    """Programs that are started with `-m` or `-c` are named in texts, where no import is found."""
    packed, modules = own_files(), modules_of(PACKAGE)
    named = {
        module
        for name, content in packed.items()
        if name.endswith(".py") and name != "rookery/cli/main.py"
        for word in modules_in_texts(content)
        for module in {word, f"{word}.__main__"} & modules.keys()
    }
    assert {"rookery.match.fledgling", "rookery.worker.sandbox.launcher"} <= named
    paths = {modules[module].relative_to(PACKAGE.parent).as_posix() for module in named}
    assert paths <= packed.keys()


def test_commands_are_in_the_wheel_or_need_the_server() -> None:
    """Those that are left out could not be started by an installation without the server."""
    packed = own_files()
    left_out = {
        each.name
        for each in chain(*main.COMMANDS.values())
        if f"{each.target.partition(':')[0].replace('.', '/')}.py" not in packed
    }
    server = {
        "boundaries",
        "db",
        "demo",
        "doctor",
        "files",
        "net",
        "repo",
        "serve",
        "status",
        "step-down",
        "token",
        "up",
        "user",
    }
    assert left_out == server


def test_imports_are_found_as_python_finds_them() -> None:
    packed, known = own_files(), modules_of(PACKAGE).keys()
    sources = {name: text for name, text in packed.items() if name.endswith(".py")}
    found = {name: known & set(find_imports(text.decode())) for name, text in sources.items()}
    assert found == {name: known & set(parsed_imports(text)) for name, text in sources.items()}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of ours, to be changed."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "rookery", ignore=ignored))


def test_a_changed_page_is_no_new_worker(package: Path) -> None:
    before = worker_wheel(package)
    for name in ("web/templates/base.html", "web/handout.py", "pages/page.py", "cli/serve.py"):
        with (package / name).open("a") as file:
            file.write("\n")
    (package / "pages" / "another.py").write_text("import rookery.worker\n")
    assert worker_wheel(package).sha256 == before.sha256 == own_wheel().sha256


def test_a_changed_module_of_the_worker_is_a_new_one(package: Path) -> None:
    found = [own_wheel().sha256]
    for name in ("worker/session.py", "match/game.py", "cli/worker.py"):
        with (package / name).open("a") as file:
            file.write("\n")
        found.append(worker_wheel(package).sha256)
    assert len(set(found)) == 4

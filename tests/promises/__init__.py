"""What Rookery promises, each with the test of its effect: a list per kind beside this module.

A line of a list is a promise and the test that would fail without its effect, as
`tests/…/test_x.py::test_name`. The left side is made by machine (`list_promises`), so a new flag,
setting or field without a line fails `tests/unit/test_promises.py`, as does a line whose test is
gone. The test of a promise asserts what it does, not that it can be read.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

from cyclopts import App
from msgspec import Struct
from msgspec.structs import fields

from rookery.cli import main as frame
from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.protocol.runs import PLAN_KEYS, SIDE_KEYS
from rookery.server.settings import SETTINGS, variable_name

FOLDER = Path(__file__).parent
PROJECT = FOLDER.parent.parent


OF_SETTINGS = tuple(f"[{variable_name(name)}]" for name in SETTINGS)


def list_flags() -> Iterator[str]:
    """Every flag of the command line, under the first command that has it: those that several
    commands share, with the same words of help, are one promise. Flags that stand for settings are
    promised as these."""
    seen = set[tuple[str, str]]()
    for group in ((each,) for _, each in frame.list_commands()):
        for command in group:
            for path, name, purpose in _flags_below(_load_command(command.name), command.name):
                if (name, purpose) not in seen and not purpose.endswith(OF_SETTINGS):
                    seen.add((name, purpose))
                    yield f"{path} {name}"


def _load_command(name: str) -> App:
    return frame.command_line(name)[name]


def _flags_below(app: App, path: str) -> Iterator[tuple[str, str, str]]:
    """The flags that the help shows: `worker --trial`, by which a worker tries its successor, is
    none of them. Arguments without a name are in every test of their command."""
    arguments = app.assemble_argument_collection() if app.default_command else ()
    for argument in arguments:
        if argument.name.startswith("--") and argument.show:
            yield path, argument.name, str(argument.parameter.help or "")
    for name in app:
        if not name.startswith("-"):
            yield from _flags_below(app[name], f"{path} {name}")


def list_settings() -> Iterator[str]:
    """The environment variable of every setting."""
    return map(variable_name, SETTINGS)


def list_record_fields() -> Iterator[str]:
    """Every field of an engine's record, with those of its parts."""
    return _fields_below(EngineRecord, "")


def _fields_below(record: type[Struct], place: str) -> Iterator[str]:
    for info in fields(record):
        part = next(filter(_is_struct, (info.type, *get_args(info.type))), None)
        if part is None or part is PresetRecord:
            yield f"{place}{info.encode_name}"
        else:
            yield from _fields_below(part, f"{place}{info.encode_name}.")


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def list_run_fields() -> Iterator[str]:
    """Every key of a test's arguments; one key stands for both sides."""
    yield from PLAN_KEYS
    yield from SIDE_KEYS["new"]


LISTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "flags": list_flags,
    "settings": list_settings,
    "engines": list_record_fields,
    "tests": list_run_fields,
}


def read_list(kind: str) -> dict[str, str]:
    """The tests of a list by their promises."""
    lines = (FOLDER / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.rsplit(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {promise.strip(): test for promise, test in pairs}


@cache
def list_tests(path: str) -> frozenset[str]:
    """The names of the tests in a file; none if there is no such file."""
    file = PROJECT / path
    if not file.exists():
        return frozenset()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, functions))

"""What the docs show is what happens: their commands are run, their documents are read."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rookery.cli.main import main
from rookery.core.client import Client, Following
from rookery.core.protocol.runs import read_submission
from rookery.core.protocol.v1 import ENGINE_RECORD
from rookery.worker.commands.settings import NAMES
from tests.places import PROJECT

DOCS = PROJECT / "docs"
SHOWN = re.compile(r"^```console\n\$ rookery (stats .*)\n((?:.+\n)+)```$", re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("words", "output"), SHOWN.findall((DOCS / "statistics.md").read_text(encoding="utf-8"))
)
def test_a_question_of_the_docs_has_the_answer_they_show(
    words: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 0
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert shown == [line.rstrip() for line in output.splitlines()]


def test_the_submission_of_the_docs_can_be_read() -> None:
    run, _ = blocks("api.md", "json")
    assert read_submission(run.encode()).side("new").tag == "idea"


@pytest.mark.parametrize("record", [blocks("api.md", "json")[1], *blocks("engines.md", "json")])
def test_an_engine_record_of_the_docs_can_be_read(record: str) -> None:
    assert ENGINE_RECORD.read(record.encode()).name


def test_a_workers_configuration_of_the_docs_has_settings_that_there_are() -> None:
    for text in blocks("worker.md", "toml"):
        assert set(tomllib.loads(text)) <= set(NAMES)


class Call(Exception):
    """A call as it would have gone out."""

    def __init__(self, method: str, path: str, body: bytes = b"") -> None:
        super().__init__(method, path)
        self.method = method
        self.path = path.partition("?")[0]
        self.body = body


class NoServer:
    """A transport that tells what it was to carry."""

    server = "https://farm.example.org"

    def call(self, method: str, path: str, body: bytes | None = None) -> NoReturn:
        raise Call(method, path, body or b"")

    def upload(self, method: str, path: str, file: Path) -> NoReturn:
        raise Call(method, f"{path}?{file.name}")

    def lines(self, path: str, after: str, seconds: float) -> Iterator[bytes]:
        raise Call("GET", path)


GIVEN: dict[str, Any] = {
    "farm": Client(NoServer()),
    "HttpApiTransport": lambda *_, **__: NoServer(),
    "args": {"tc": "10+0.1"},
    "run_id": "0" * 24,
    "name": "Wren",
    "token_id": "0123456789ab",
    "password": "four random words",
}
SHELL = {
    "$RUN": GIVEN["run_id"],
    "$NAME": GIVEN["name"],
    "$NET": GIVEN["name"],
    "$ENGINE": GIVEN["name"],
    "$ID": GIVEN["token_id"],
    "$ROOKERY": "",
}
TASKS = re.findall(
    r"^\| [^|]+ \| `([^`]*api/v1[^`]*)` \| (?:`([^`]*)`)? ?\|$",
    (DOCS / "api.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def read_curl(words: str) -> tuple[str, str, str]:
    """The method, the path and the body of a command line."""
    for name, value in SHELL.items():
        words = words.replace(name, value)
    method, path, body = "", "", ""
    parts = iter(shlex.split(words))
    for part in parts:
        if part in ("-X", "-u", "-d", "--data-binary"):
            value = next(parts)
            method = value if part == "-X" else method
            body = value if part in ("-d", "--data-binary") else body
        elif part.startswith("/"):
            path = part.partition("?")[0]
    return method or ("POST" if body else "GET"), path, body


@pytest.mark.parametrize(("curl", "python"), TASKS)
def test_the_python_of_a_task_sends_what_its_curl_sends(curl: str, python: str) -> None:
    (imports, *_) = blocks("api.md", "python")
    names: dict[str, Any] = {}
    exec(imports, names)

    def send() -> None:
        made = eval(python, names | GIVEN)
        next(iter(made if isinstance(made, Following) else ()))

    with pytest.raises(Call) as sent:
        send()
    method, path, body = read_curl(curl)
    assert (sent.value.method, sent.value.path) == (method, path)
    if body.startswith("{"):
        given = json.loads(sent.value.body)
        asked = {name: each for name, each in json.loads(body).items() if each != "..."}
        assert {name: given[name] for name in asked} == asked


def test_every_task_of_the_docs_has_its_python() -> None:
    assert len(TASKS) > 50
    assert [curl for curl, python in TASKS if not python] == []

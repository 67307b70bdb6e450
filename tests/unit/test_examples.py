"""What the docs show is what happens: their commands are run, their documents are read."""

import re
import tomllib
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.cli.worker_settings import NAMES
from rookery.protocol.runs import read_submission
from rookery.protocol.v1 import ENGINE_RECORD

DOCS = Path(__file__).resolve().parents[2] / "docs"
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

"""`rookery ask`: the answer as it comes, then the sources, for people and for scripts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from rookery.cli.main import main
from rookery.core.client.logins import ServerFlags

SOURCE = (
    b'{"id":"commit:2","kind":"commit","title":"Raz\\u001b[31mor","text":"t","url":"/c/2",'
    b'"score":1.5,"commit":"0123456789abcdef"}'
)
SOURCES = b'event: sources\ndata: {"sources":[%b]}\n\n' % SOURCE
TOKENS = b'event: token\ndata: {"text":"Tried "}\n\n:\n\nevent: token\ndata: {"text":"[1]."}\n\n'
DONE = b'event: done\ndata: {"session_id":"5e5510"}\n\n'
ERROR = b'event: error\ndata: {"error":"The model stopped before the end of its answer."}\n\n'


@dataclass
class ToldTransport:
    """Answers what it is told to."""

    told: bytes
    server: str = "https://farm.example.org"
    bodies: list[dict[str, object]] = field(default_factory=list)

    def stream(self, path: str, body: bytes, seconds: float) -> Iterator[bytes]:
        del path, seconds
        self.bodies.append(json.loads(body))
        yield from self.told.splitlines(keepends=True)


def run(monkeypatch: pytest.MonkeyPatch, told: bytes, *words: str) -> tuple[int, ToldTransport]:
    transport = ToldTransport(told)
    monkeypatch.setattr(ServerFlags, "transport", lambda self: transport)
    return main(["ask", *words]), transport


def test_an_answer_is_printed_with_its_sources(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, transport = run(
        monkeypatch, SOURCES + TOKENS + DONE, "was it tried?", "--outcome=failed", "--kind=commit"
    )
    said = capsys.readouterr().out
    assert (code, transport.bodies[0]["query"]) == (0, "was it tried?")
    assert transport.bodies[0]["filters"] == {"outcome": "failed", "kinds": ["commit"]}
    assert said.startswith("Tried [1].\n\nSources:\n")
    assert "1 commit 0123456789ab: Raz·[31mor\n    https://farm.example.org/c/2" in said
    assert "--session 5e5510" in said


def test_scripts_get_the_answer_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, SOURCES + TOKENS + DONE, "question", "index", "--json")
    assert json.loads(capsys.readouterr().out)["answer"] == "Tried [1]."


def test_a_conversation_goes_on_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _, transport = run(monkeypatch, SOURCES + TOKENS + DONE, "did it pass?", "--session=5e5510")
    assert transport.bodies[0]["session_id"] == "5e5510"


@pytest.mark.parametrize(
    ("told", "says"),
    [(ERROR, "stopped before the end"), (b"", "too early"), (b"data: x\n\n", "not a Rookery")],
)
def test_an_answer_that_is_not_whole_is_an_error(
    told: bytes, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = run(monkeypatch, SOURCES + told, "was it tried?")
    assert code == 3
    assert says in capsys.readouterr().err

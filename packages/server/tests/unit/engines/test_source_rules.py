"""Which address a record may name as its source, by its text alone."""

import pytest

from rookery.server.engines.source_rules import SourceRules

STRICT = SourceRules(frozenset({"https"}))
OPEN = SourceRules(frozenset({"https", "ssh", "file"}), frozenset({"git.lan", "127.0.0.1"}))


@pytest.mark.parametrize(
    "source",
    [
        "https://github.com/official-stockfish/Stockfish",
        "https://host/strix.git",
        "http://93.184.216.34:8080/a",
        "https://[2606:2800:220:1::1]/a",
    ],
)
def test_a_repository_on_the_web_is_a_source(source: str) -> None:
    assert STRICT.objection(source) is None


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("/etc", "expected the address"),
        ("../up", "expected the address"),
        ("--upload-pack=touch x", "expected the address"),
        ("javascript:alert(1)", "expected the address"),
        ("ext::sh -c touch% x", "expected the address"),
        ("ext::https://host/a", "expected the address"),
        ("javascript://host/%0aalert(1)", "not by javascript"),
        ("file:///root/.ssh", "not by file"),
        ("ssh://git@127.0.0.1/x", "not by ssh"),
        ("git@host:me/engine", "not by ssh"),
        ("http://169.254.169.254/x", "inside this server's network"),
        ("http://127.0.0.1/x", "inside this server's network"),
        ("http://0x7f.1/x", "inside this server's network"),
        ("http://2130706433/x", "inside this server's network"),
        ("http://[::ffff:10.0.0.1]/x", "inside this server's network"),
        ("https://localhost./x", "inside this server's network"),
        ("https://-oProxyCommand=x/y", "can't be the name of a host"),
        ("https:///x", "can't be the name of a host"),
        ("https://host:port/x", "can't be read"),
        ("https://user:secret@host/x", "can't be the name of a host"),
    ],
)
def test_what_can_never_be_fetched_or_should_not_be_is_told(source: str, why: str) -> None:
    assert why in (STRICT.objection(source) or "")


@pytest.mark.parametrize(
    "source",
    ["git@git.lan:me/engine", "file:///srv/engine", "http://127.0.0.1:3000/a", "ssh://host/a"],
)
def test_an_operator_can_allow_more(source: str) -> None:
    assert OPEN.objection(source) is None

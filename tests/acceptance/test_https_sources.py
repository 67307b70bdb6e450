"""Sources from a git server with TLS: trusted by a certificate of the owner's, or refused."""

import asyncio
from pathlib import Path

import pytest

from rookery.core.model.engine import EngineRecord
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.engines.workshop import Workshop
from rookery.worker.sandbox.sandbox import BuiltEngine, Sandbox
from tests.engines import repositories
from tests.engines.git_server import CERTIFICATE, serving

RECORD = EngineRecord(name="Tiny")


def made_from(server: str, folder: Path, commit: str) -> BuiltEngine:
    order = EngineOrder(RECORD, commit, f"{server}/tiny/.git")
    workshop = Workshop(folder / "cache", sandbox=Sandbox(True), private_sources=True)
    return asyncio.run(workshop.make(order))


def test_a_certificate_that_the_owner_names_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repositories.openbench(tmp_path / "tiny").commit
    monkeypatch.setenv("GIT_SSL_CAINFO", str(CERTIFICATE))
    with serving(tmp_path, tls=True) as server:
        built = made_from(server, tmp_path, commit)
    assert Path(built.command[0]).exists()


def test_a_certificate_that_nobody_vouches_for_is_named_in_a_sentence(tmp_path: Path) -> None:
    commit = repositories.openbench(tmp_path / "tiny").commit
    with serving(tmp_path, tls=True) as server, pytest.raises(BuildFailed) as failed:
        made_from(server, tmp_path, commit)
    assert failed.value.sentence == (
        "The source could not be fetched: this machine does not trust the server's certificate"
        " (GIT_SSL_CAINFO names a file with those it is to trust)."
    )
    assert failed.value.blame == "machine"

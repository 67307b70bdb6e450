"""An engine in Rust with two dependencies: one by git, one that lies vendored beside it."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from rookery.core.model.engine import EngineRecord, RecipeRecord
from rookery.worker.engines.bench import bench
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.engines.workshop import Workshop
from rookery.worker.sandbox.sandbox import Sandbox
from tests.engines import repositories
from tests.engines.git_server import serving
from tests.engines.repositories import Repository

RECORD = EngineRecord(name="Tiny", recipe=RecipeRecord(kind="cargo"))
DEPENDENCIES = """
[dependencies]
fetched = {{ git = "{address}" }}
vendored = {{ path = "vendor/vendored" }}
"""
LOCK = """\
version = 3

[[package]]
name = "fetched"
version = "0.1.0"
source = "git+{address}#{commit}"

[[package]]
name = "tiny"
version = "0.1.0"
dependencies = [
 "fetched",
 "vendored",
]

[[package]]
name = "vendored"
version = "0.1.0"
"""
PLAIN_BENCH = 'println!("4242 nodes 1000000 nps")'
SUMMED_BENCH = 'println!("{} nodes 1000000 nps", fetched::NODES + vendored::NODES)'


def crate(name: str, nodes: int, folder: str = "") -> dict[str, str]:
    toml = repositories.CARGO_TOML.replace('"tiny"', f'"{name}"')
    library = f"pub const NODES: u64 = {nodes};\n"
    return {f"{folder}Cargo.toml": toml, f"{folder}src/lib.rs": library}


def engine(folder: Path, server: str) -> Repository:
    """Its bench is what its two dependencies come to together."""
    fetched = repositories.repository(folder / "fetched", crate("fetched", 4200))
    address = f"{server}/fetched/.git"
    files = {
        "Cargo.toml": repositories.CARGO_TOML + DEPENDENCIES.format(address=address),
        "Cargo.lock": LOCK.format(address=address, commit=fetched.commit),
        "src/main.rs": repositories.RUST.replace(PLAIN_BENCH, SUMMED_BENCH),
        **crate("vendored", 42, "vendor/vendored/"),
    }
    return repositories.repository(folder / "tiny", files)


def has_cargo() -> bool:
    found = shutil.which("cargo")
    return bool(found) and subprocess.run((str(found), "--version"), check=False).returncode == 0


def test_locked_dependencies_are_fetched_with_a_network_and_built_without(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "cache", sandbox=Sandbox(True), private_sources=True)
    with serving(tmp_path, tls=False) as server:
        source = engine(tmp_path, server)
        order = EngineOrder(RECORD, source.commit, source.url)
        if not has_cargo():
            with pytest.raises(BuildFailed, match=r"cargo (does not start|is not installed)"):
                asyncio.run(workshop.make(order))
            return
        built = asyncio.run(workshop.make(order))
    assert asyncio.run(bench(built, RECORD, slots=1)).nodes == 4242

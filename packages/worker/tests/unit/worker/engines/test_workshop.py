"""Engines that need no building."""

import shutil
import sys
from pathlib import Path

import pytest

from rookery.core.model.engine import EngineRecord, RecipeRecord
from rookery.match.introduction import NoIntroduction
from rookery.worker.engines.building import key_of
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.engines.toolchain import HostIdentity
from rookery.worker.engines.workshop import describe_trouble, find_installed, linked_folders


def order(output: str) -> EngineOrder:
    recipe = RecipeRecord(kind="installed", output=output)
    return EngineOrder(EngineRecord(name="Any", recipe=recipe), commit="", repository="")


def test_the_bundled_engine_is_run_by_this_python() -> None:
    assert find_installed(order("rookery-fledgling")).command == (
        sys.executable,
        "-m",
        "rookery.match.fledgling",
    )


def test_a_command_is_looked_for_on_the_path() -> None:
    assert find_installed(order("sh -c true")).command == (shutil.which("sh"), "-c", "true")


def test_modules_that_are_links_are_found_where_they_lie(tmp_path: Path) -> None:
    package, real = tmp_path / "package", tmp_path / "real"
    package.mkdir()
    real.mkdir()
    (real / "there.py").touch()
    (package / "here.py").touch()
    (package / "there.py").symlink_to(real / "there.py")
    assert linked_folders(package) == (real,)


def test_a_bundled_engine_that_does_not_start_is_told_with_its_last_word() -> None:
    said = "> uci\n! Traceback\n! ModuleNotFoundError: No module named 'chess'"
    assert describe_trouble(NoIntroduction("it ended", said)) == (
        "the bundled engine does not start here: ModuleNotFoundError: No module named 'chess'"
    )


@pytest.mark.parametrize("portable", [False, True])
def test_a_build_is_shared_with_other_processors_where_the_record_says_so(
    *, portable: bool
) -> None:
    record = EngineRecord(name="Any", recipe=RecipeRecord(portable=portable))
    machines = [HostIdentity("linux", "x86_64", flags, "host") for flags in ("avx2", "avx512f")]
    keys = {key_of(record, "tree", (), (), {}, machine) for machine in machines}
    assert len(keys) == (1 if portable else 2)


def test_a_build_is_shared_between_accounts_that_keep_rust_in_their_own_homes() -> None:
    record = EngineRecord(name="Any", recipe=RecipeRecord(portable=True))
    machine = HostIdentity("linux", "x86_64", "avx2", "host")
    homes = [{"RUSTUP_HOME": f"/home/{name}/.rustup"} for name in ("olga", "nils")]
    assert len({key_of(record, "tree", (), (), home, machine) for home in homes}) == 1


@pytest.mark.parametrize("output", ["no-such-engine-here", "", "open 'quote"])
def test_a_command_that_is_not_here_is_a_failure_of_this_machine(output: str) -> None:
    with pytest.raises(BuildFailed, match="which is not installed") as failed:
        find_installed(order(output))
    assert failed.value.blame == "machine"

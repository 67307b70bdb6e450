"""The likelihood ratio in C: the same bits as in Python, whose form stays wherever C's can't be."""

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.core.boundary.offload import Threads
from rookery.core.stats import likelihood
from rookery.core.stats.likelihood import (
    FiveRatio,
    normalised_ratio,
    normalised_ratio_in_python,
    use_compiled,
)
from rookery.server.app import compiled
from rookery.server.app.compiled import (
    NotCompiled,
    compiled_likelihood,
    load_compiled,
    make_compiled,
)
from rookery.server.commands.doctor import check_likelihood
from rookery.server.settings import Settings
from tests.eventually import eventually
from tests.fakes import RecordedLog
from tests.unit.stats.strategies import PROPERTY
from tests.unit.stats.test_likelihood import COUNTS

needs_compiler = pytest.mark.skipif(
    compiled.find_compiler() is None, reason="this machine has no C compiler"
)
pytestmark = needs_compiler

BOUNDS = st.floats(-5.0, 5.0) | st.floats(-1000.0, 1000.0)
FAR = ((0, 10**7, 0, 0, 0), -1000.0, 1000.0)


@pytest.fixture(scope="module")
def ratio(tmp_path_factory: pytest.TempPathFactory) -> FiveRatio:
    return make_compiled([tmp_path_factory.mktemp("compiled")])[0]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder in which programs are looked for."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    yield tmp_path / "bin"
    use_compiled(None)


def add_compiler(path: Path, script: str) -> None:
    (path / "cc").write_text(f"#!/bin/sh\nPATH={os.defpath}\n{script}\n")
    (path / "cc").chmod(0o755)


@settings(PROPERTY, max_examples=1_000)
@given(bins=st.tuples(*[COUNTS] * 5), elo0=BOUNDS, elo1=BOUNDS)
def test_c_gives_the_same_bits_as_python_or_leaves_the_case_to_it(
    ratio: FiveRatio, bins: tuple[int, ...], elo0: float, elo1: float
) -> None:
    found = ratio(*bins, elo0, elo1)
    assert math.isnan(found) or found == normalised_ratio_in_python(bins, elo0, elo1)


@pytest.mark.parametrize(("elo0", "elo1"), [(0.0, 2.0), (0.5, 2.5), (-1.75, 0.25), (-30.0, 30.0)])
def test_usual_bounds_are_not_left_to_python(ratio: FiveRatio, elo0: float, elo1: float) -> None:
    assert not math.isnan(ratio(110, 2_030, 4_100, 2_090, 120, elo0, elo1))


@pytest.mark.parametrize("unusual", [FAR, ((1, 2, 3), 0.0, 2.0)])
def test_what_c_leaves_to_python_has_the_same_result(
    ratio: FiveRatio, unusual: tuple[tuple[int, ...], float, float]
) -> None:
    use_compiled(ratio)
    try:
        assert normalised_ratio(*unusual) == normalised_ratio_in_python(*unusual)
    finally:
        use_compiled(None)


def test_counts_below_zero_are_refused_as_in_python(ratio: FiveRatio) -> None:
    assert math.isnan(ratio(-1, 2, 3, 4, 5, 0.0, 2.0))


def test_it_is_compiled_once(tmp_path: Path, path: Path) -> None:
    add_compiler(path, f'exec {shutil.which("cc", path=os.defpath)} "$@"')
    first = make_compiled([tmp_path])[1]
    add_compiler(path, "exit 1")
    assert make_compiled([tmp_path])[1] == first


def test_without_a_compiler_python_stays(tmp_path: Path, path: Path) -> None:
    with pytest.raises(NotCompiled, match="there is no C compiler"):
        make_compiled([tmp_path])


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, path: Path) -> None:
    add_compiler(path, "echo 'cc: no math.h' >&2; exit 1")
    with pytest.raises(NotCompiled, match=r"cc: cc: no math\.h"):
        make_compiled([tmp_path])


def test_a_compiler_with_other_results_is_not_believed(tmp_path: Path, path: Path) -> None:
    real = shutil.which("cc", path=os.defpath)
    add_compiler(path, f'exec {real} "$@" -UEMPTY_BIN -DEMPTY_BIN=0.0010000001')
    with pytest.raises(NotCompiled, match="gives other results than Python"):
        make_compiled([tmp_path])


def test_a_library_that_others_may_change_is_not_loaded(tmp_path: Path) -> None:
    made = make_compiled([tmp_path])[1]
    made.chmod(0o777)
    with pytest.raises(NotCompiled, match="others may write"):
        load_compiled([tmp_path])


def test_the_next_folder_is_taken_where_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert make_compiled([tmp_path / "file" / "a", tmp_path / "b"])[1].parent == tmp_path / "b"


def test_the_next_folder_is_taken_where_one_cannot_be_looked_into(tmp_path: Path) -> None:
    closed = tmp_path / ("x" * 300)  # as good as another user's, for root too
    assert load_compiled([closed]) is None
    assert make_compiled([closed, tmp_path / "b"])[1].parent == tmp_path / "b"


@pytest.mark.anyio
async def test_a_server_uses_it_while_it_runs_and_says_so(tmp_path: Path) -> None:
    log = RecordedLog()
    async with compiled_likelihood(tmp_path, Threads(), log):
        await eventually(lambda: "likelihood_in_c" in log.events())
        assert likelihood._compiled is not None
    assert likelihood._compiled is None


@pytest.mark.anyio
async def test_a_server_without_it_says_why(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    log = RecordedLog()
    async with compiled_likelihood(tmp_path, Threads(), log):
        await eventually(lambda: "likelihood_in_python" in log.events())


def test_the_doctor_says_which_form_is_in_use(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    here = Settings(data=tmp_path)
    assert "there is no C compiler" in check_likelihood(here).found
    add_compiler(path, f'exec {shutil.which("cc", path=os.defpath)} "$@"')
    assert "the next start" in check_likelihood(here).found
    make_compiled(compiled.find_folders(tmp_path))
    assert check_likelihood(here).found.startswith("in C (")

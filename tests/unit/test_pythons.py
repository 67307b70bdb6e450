"""Which Pythons are tried, and where they are looked for."""

from pathlib import Path

import pytest

from scripts.pythons import list_named, list_places
from tests.places import PROJECT

ROOT = PROJECT


def put(program: Path) -> str:
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    return str(program)


def test_the_oldest_python_that_is_tried_is_the_one_that_readme_names() -> None:
    assert f"Python {list_named()[0]} or newer" in (ROOT / "README.md").read_text()
    assert len(list_named()) > 1


def test_a_python_on_the_path_comes_before_pyenvs(tmp_path: Path) -> None:
    pyenvs = put(tmp_path / "pyenv" / "versions" / "3.12.1" / "bin" / "python")
    here = put(tmp_path / "bin" / "python3.12")
    places = {"PATH": str(tmp_path / "bin"), "PYENV_ROOT": str(tmp_path / "pyenv")}
    assert list(list_places("3.12", places)) == [here, pyenvs]


@pytest.mark.parametrize("variable", ["PYENV_ROOT", "HOME"])
def test_pyenvs_pythons_are_found(variable: str, tmp_path: Path) -> None:
    folder = tmp_path if variable == "PYENV_ROOT" else tmp_path / ".pyenv"
    put(folder / "versions" / "3.11.7" / "bin" / "python")
    here = put(folder / "versions" / "3.12.1" / "bin" / "python")
    assert list(list_places("3.12", {"PATH": "", variable: str(tmp_path)})) == [here]


def test_a_python_that_is_not_here_is_nowhere(tmp_path: Path) -> None:
    places = {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path)}
    assert list(list_places("3.12", places)) == []

"""Commands that read a database make none where there is none."""

from pathlib import Path

import pytest

from rookery.cli.main import main


@pytest.mark.parametrize(
    "words",
    [
        ("token", "list"),
        ("token", "create", "--user", "olga"),
        ("user", "list"),
        ("net", "list"),
        ("db", "backup", "x.dump"),
        ("db", "shell"),
    ],
)
def test_a_command_that_reads_makes_no_database(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "nothing"
    assert main([*words, "--data", str(folder)]) == 3
    sentence = capsys.readouterr().err
    assert sentence.startswith(f"rookery: There is no database in {folder}. If a server")
    assert not folder.exists()

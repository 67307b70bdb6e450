"""How the end of a program is told."""

import pytest

from rookery.errors import describe_exit


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-13, "was killed by signal SIGPIPE"),
        (-63, "was killed by signal 63"),
        (139, "ended with exit code 139 (killed by signal SIGSEGV)"),
        (255, "ended with exit code 255"),
    ],
)
def test_a_signal_is_not_told_as_an_exit_code(code: int, said: str) -> None:
    assert describe_exit(code) == said

"""Errors whose docstring is their message, and how the end of a program is told."""

import pytest

from rookery.core.errors import Fault, describe_exit


class TooManyOwls(Fault):
    """there are {owls} owls,
    which is more than {limit}"""


def test_the_docstring_is_the_message_in_one_line_with_its_fields() -> None:
    fault = TooManyOwls(owls=4, limit="a  few")
    assert str(fault) == "there are 4 owls, which is more than a  few"
    assert fault.fields == {"owls": 4, "limit": "a  few"}


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

"""Errors whose docstring is their message."""

from rookery.errors import Fault


class TooManyOwls(Fault):
    """there are {owls} owls,
    which is more than {limit}"""


def test_the_docstring_is_the_message_in_one_line_with_its_fields() -> None:
    fault = TooManyOwls(owls=4, limit="a  few")
    assert str(fault) == "there are 4 owls, which is more than a  few"
    assert fault.fields == {"owls": 4, "limit": "a  few"}

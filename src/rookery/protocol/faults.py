"""What can be wrong with something received; each class's docstring is its message."""

from rookery.core.fault import Fault


class WireFault(Fault):
    """the message cannot be used"""

    def at(self, path: str) -> str:
        """The fault in the form that answers carry: the endpoint's path, then the text."""
        return f"{path}: {self}"


class TooLarge(WireFault):
    """the body is longer than {limit} bytes"""


class TooDeep(WireFault):
    """the body is nested too deeply"""


class NotJson(WireFault):
    """the body is not JSON ({text})"""


class NotAnObject(WireFault):
    """the body is not a JSON object"""


class BadBody(WireFault):
    """{text}"""


class MissingField(WireFault):
    """{field}: is missing"""


class BadField(WireFault):
    """{field}: {text}"""


class BadParameter(WireFault):
    """{name}: {text}"""


class BadName(WireFault):
    """{name!r} is not of the form {form}"""


class BadFilter(WireFault):
    """the filter cannot be used: {text}"""

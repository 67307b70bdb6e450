"""What can be wrong with something received; each class's docstring is its message."""


class WireFault(Exception):
    """the message cannot be used"""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        super().__init__((type(self).__doc__ or "").format(**fields))

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

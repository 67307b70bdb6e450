"""The base of errors whose docstring is their message."""


class Fault(Exception):
    """something is wrong"""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        words = " ".join((type(self).__doc__ or "").split())
        super().__init__(words.format(**fields))

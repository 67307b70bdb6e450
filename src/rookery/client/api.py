"""The JSON API as methods: typed values in and out."""

from rookery.client.files import FileCalls
from rookery.client.people import PeopleCalls
from rookery.client.runs import RunCalls
from rookery.client.transport import HttpTransport


class Client(RunCalls, FileCalls, PeopleCalls):
    """Calls one server; each method is one call, and blocks until it is answered."""

    @classmethod
    def at(cls, server: str, token: str = "") -> "Client":
        return cls(HttpTransport(server, token))

"""Why the server can't listen, in sentences."""

import errno
import socket

import pytest

from rookery.server.carriers.serving import ListenAddress, explain_bind_error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError(errno.EADDRINUSE, "x"),
            "Another program already listens on h:80; stop it or choose another --port.",
        ),
        (
            OSError(errno.EACCES, "x"),
            "Listening on h:80 is not allowed; choose a --port above 1023.",
        ),
        (
            socket.gaierror(-2, "x"),
            "This machine has no address h; choose another --host.",
        ),
        (OSError(errno.ENOBUFS, "No room"), "Listening on h:80 failed: No room."),
    ],
)
def test_each_cause_has_its_sentence(error: OSError, sentence: str) -> None:
    assert str(explain_bind_error(ListenAddress("h", 80), error)) == sentence

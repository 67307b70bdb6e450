"""How long a connection may wait for what, looked at by the poll thread a few times a second."""

from collections.abc import Callable

from cymongoose import WEBSOCKET_OP_PING, Connection

from rookery_asgi.mongoose.state import Peer, Phase
from rookery_asgi.options import Options

SWEEP_SECONDS = 0.25
LINGER_SECONDS = 2.0
"""A client that is told to go gets that long to read why."""


def cut(conn: Connection) -> None:
    """Close without sending what is left.

    `Connection.close()` would free the connection at once, under the feet of the poll that is
    going through the connections, and would leave its socket open. An error is closed by the poll.
    """
    conn.error("closed")


class Limits:
    """The time limits of the options; 0 switches one off."""

    def __init__(self, options: Options, refuse: Callable[[Peer, int], None]) -> None:
        """`refuse` answers with a status and closes."""
        self._options = options
        self._refuse = refuse
        self._checks = {
            Phase.IDLE: self._idle,
            Phase.HEAD: self._head,
            Phase.BODY: self._body,
            Phase.OPEN: self._open,
            Phase.DOOMED: self._doomed,
        }

    def check(self, peer: Peer, now: float) -> None:
        """Close the connection, or refuse its request, if it has waited too long."""
        check = self._checks.get(peer.phase)
        if check is not None:
            check(peer, now)
        if not peer.conn.send_len:
            peer.wrote = now
        elif 0 < self._options.timeout_write < now - peer.wrote:
            cut(peer.conn)

    def _idle(self, peer: Peer, now: float) -> None:
        options = self._options
        seconds = options.timeout_head if peer.fresh else options.timeout_keep_alive
        if 0 < seconds < now - peer.since:
            peer.conn.drain()

    def _head(self, peer: Peer, now: float) -> None:
        if 0 < self._options.timeout_head < now - peer.since:
            self._refuse(peer, 408)

    def _body(self, peer: Peer, now: float) -> None:
        if not 0 < self._options.timeout_body < now - peer.since:
            return
        if peer.conn.recv_len - peer.received < self._options.least_bytes:
            self._refuse(peer, 408)
        peer.received, peer.since = peer.conn.recv_len, now

    def _open(self, peer: Peer, now: float) -> None:
        """A WebSocket: anything that the client sends proves that it is there."""
        options = self._options
        if peer.pinged is not None:
            if 0 < options.ws_ping_timeout < now - peer.pinged:
                cut(peer.conn)
        elif 0 < options.ws_ping_interval < now - peer.since:
            peer.conn.ws_send(b"", WEBSOCKET_OP_PING)
            peer.pinged = now

    def _doomed(self, peer: Peer, now: float) -> None:
        if now - peer.since > LINGER_SECONDS:
            cut(peer.conn)

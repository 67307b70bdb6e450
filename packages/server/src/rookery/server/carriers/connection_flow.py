"""The flow of bytes on a connection of uvicorn: reading can be held, and who reads nothing is given
up."""

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl


class ConnectionFlow(FlowControl):
    """uvicorn's flow control, with an end for clients that do not read."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        super().__init__(transport)
        self._seconds = seconds
        self._held = self._wants_pause = False
        self._unread = 0
        self._timer: asyncio.TimerHandle | None = None

    def hold(self) -> None:
        """Stop reading until `let_go`, whoever asks for more."""
        self._held = True
        super().pause_reading()

    def let_go(self) -> None:
        self._held = False
        if not self._wants_pause:
            super().resume_reading()

    def pause_reading(self) -> None:
        self._wants_pause = True
        super().pause_reading()

    def resume_reading(self) -> None:
        self._wants_pause = False
        if not self._held:
            super().resume_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self._transport.get_write_buffer_size()
        self._look_later()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._timer is not None:
            self._timer.cancel()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        """End the connection if nothing was read since the last look."""
        before, self._unread = self._unread, self._transport.get_write_buffer_size()
        if self._unread >= before:
            self._transport.abort()
        else:
            self._look_later()

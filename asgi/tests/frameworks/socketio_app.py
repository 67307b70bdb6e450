"""A Socket.IO server."""

from typing import Any

import socketio

# A poll that waits when its client leaves is answered after both, and the client waits for it.
server = socketio.AsyncServer(async_mode="asgi", ping_interval=1, ping_timeout=10)
app = socketio.ASGIApp(server)


@server.event
async def shout(sid: str, text: str) -> Any:
    await server.emit("heard", text.upper(), to=sid)
    return len(text)

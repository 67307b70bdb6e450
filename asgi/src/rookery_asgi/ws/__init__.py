"""WebSocket: handshake, compression, messages, and the ASGI side that ties them together."""

"""Channels: Django's HTTP beside a WebSocket consumer."""

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.urls import path

from tests.frameworks.django_app import app as django_app


class Chat(AsyncWebsocketConsumer):  # type: ignore[misc] # untyped
    """Echoes texts."""

    async def receive(self, text_data: str | None = None, bytes_data: Any = None) -> None:
        await self.send(text_data=text_data)


app = ProtocolTypeRouter({"http": django_app, "websocket": URLRouter([path("ws", Chat.as_asgi())])})

"""The client of the JSON API, for the command line and for scripts; it needs nothing of
the server."""

from rookery.core.client.client import Client
from rookery.core.client.following import Following
from rookery.core.http_failures import CallFailed, CallRefused, NoAnswer

__all__ = ["CallFailed", "CallRefused", "Client", "Following", "NoAnswer"]

"""The client of the JSON API, for the command line and for scripts; it needs nothing of
the server."""

from rookery.client.client import Client
from rookery.client.following import Following
from rookery.http_failures import CallFailed, CallRefused, NoAnswer

__all__ = ["CallFailed", "CallRefused", "Client", "Following", "NoAnswer"]

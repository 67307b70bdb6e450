"""The client of the JSON API, for the command line and for scripts; it needs the standard library
and the wire formats alone."""

from rookery.client.client import Client
from rookery.client.following import Following
from rookery.client.transport import ApiRefused, ApiUnreachable, BadAnswer

__all__ = ["ApiRefused", "ApiUnreachable", "BadAnswer", "Client", "Following"]

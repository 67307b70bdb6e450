"""An ASGI server with a C core."""

from rookery_asgi.errors import ServerError, Unavailable
from rookery_asgi.options import Options
from rookery_asgi.run import run, unavailable

__all__ = ["Options", "ServerError", "Unavailable", "run", "unavailable"]
__version__ = "0.1.0"

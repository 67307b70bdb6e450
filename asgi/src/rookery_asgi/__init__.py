"""An ASGI server on the Mongoose C event loop."""

from rookery_asgi.errors import ServerError, Unavailable
from rookery_asgi.mongoose import unavailable
from rookery_asgi.options import Options
from rookery_asgi.run import run

__all__ = ["Options", "ServerError", "Unavailable", "run", "unavailable"]
__version__ = "0.1.0"

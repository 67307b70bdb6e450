"""The choice of what carries HTTP."""

from rookery.logs import Log
from rookery.web import on_mongoose, on_uvicorn
from rookery.web.serving import MONGOOSE, Carrier


def choose(wanted: str, log: Log) -> Carrier:
    """The carrier of that name; uvicorn, with a sentence in the log, where the other can't run."""
    if wanted != MONGOOSE:
        return on_uvicorn.carrier()
    if (why := on_mongoose.unavailable()) is not None:
        log.warning("serving_with_uvicorn", why=why)
        return on_uvicorn.carrier()
    return on_mongoose.carrier()

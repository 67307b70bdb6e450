"""Which HTTP server the test's own server processes use: uvicorn, or the one in ROOKERY_HTTP."""

import os

from rookery.logs import logger
from rookery.web.carriers import choose
from rookery.web.serving import Carrier


def carrier() -> Carrier:
    return choose(os.environ.get("ROOKERY_HTTP", "uvicorn"), logger())

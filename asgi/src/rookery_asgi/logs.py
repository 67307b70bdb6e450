"""The server's own log: standard error, or what a file configures."""

import json
import logging
import logging.config
import sys
import tomllib
from pathlib import Path
from typing import Any

from rookery_asgi.errors import BadOption
from rookery_asgi.options import Options

READERS = {".json": json.loads, ".toml": tomllib.loads}


def configure(options: Options) -> None:
    """Standard error, unless the application or a file has arranged otherwise."""
    if options.log_config is not None:
        configure_from(Path(options.log_config))
        return
    logging.basicConfig(
        stream=sys.stderr,
        level=options.log_level.upper(),
        format="%(asctime)s %(levelname)s %(message)s",
    )


def configure_from(path: Path) -> None:
    """A dictionary as logging.config knows it, or a file of its older format."""
    try:
        read = READERS.get(path.suffix)
        if read is None:
            logging.config.fileConfig(path, disable_existing_loggers=False)
        else:
            logging.config.dictConfig(complete(read(path.read_text())))
    except Exception as error:  # noqa: BLE001 - whatever a handler of the file raises
        raise BadOption(f"--log-config {path}", error) from None


def complete(given: dict[str, Any]) -> dict[str, Any]:
    """What the format wants of every file, so that files need not say it."""
    return {"version": 1, "disable_existing_loggers": False, **given}

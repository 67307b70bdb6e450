"""`rookery` of a later version, for tests: newer_serve.py FOLDER WORDS

It is the present code with additional migrations from a folder. Nothing of this is in the server
itself.
"""

import sys
from pathlib import Path

from rookery.cli.main import main
from rookery.server.db import migrations
from rookery.server.db.migrations import Migration


def know_more(folder: Path) -> None:
    load = migrations.load_migrations

    def load_more() -> tuple[Migration, ...]:
        return (*load(), *load(folder))

    setattr(migrations, "load_migrations", load_more)  # noqa: B010 - what a later version has


if __name__ == "__main__":
    know_more(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))

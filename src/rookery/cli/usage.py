"""What is given on a command line and can't be used, and how files named there are read."""

from pathlib import Path

from rookery.core.complaint import Complaint


class BadArgument(Complaint):
    """Something given on the command line cannot be used."""

    exit_code = 2


def text_of(file: Path) -> str:
    """Raises BadArgument."""
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise BadArgument(f"{file} can't be read: it is no text in UTF-8.") from None
    except OSError as error:
        raise BadArgument(f"{file} can't be read: {error.strerror}.") from None

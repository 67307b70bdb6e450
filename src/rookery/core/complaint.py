"""The base of every error that the person at the keyboard can put right."""

from typing import ClassVar


class Complaint(Exception):
    """Its text is a whole sentence; the command line prints it and ends with the exit code."""

    exit_code: ClassVar[int] = 3

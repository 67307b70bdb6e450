"""What the command line makes of words, without running the command."""

from typing import Any

from rookery.cli.main import command_line
from rookery.core.command import join_bounds


def parsed(command: str, *words: str) -> dict[str, Any]:
    """Return the arguments that the command would be called with; raise CycloptsError."""
    line = join_bounds([command, *words])
    _, bound, _ = command_line(command).parse_args(line, exit_on_error=False, print_error=False)
    return dict(bound.arguments)

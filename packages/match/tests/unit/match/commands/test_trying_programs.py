"""Programs are tried before `rookery submit` uploads them."""

from pathlib import Path

import pytest

from rookery.cli.commands.submit_fields import try_programs
from rookery.core.command import BadArgument


def test_a_program_that_does_not_speak_uci_is_told_before_it_is_uploaded() -> None:
    with pytest.raises(BadArgument, match=r"/bin/true does not play: .*--untried"):
        try_programs([Path("/bin/true")])

"""Flags that stand for settings: one flag a setting, described by the setting itself."""

import argparse
from collections.abc import Iterable

from rookery.settings import SETTINGS, Settings, flag, from_process, variable

SWITCHES = frozenset({"access_log", "detect_blocking"})


def add_settings(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Adds the flags of these settings; each also names its environment variable."""
    group = parser.add_argument_group("settings", "Each can also be given in the environment.")
    for name in names:
        purpose = f"{SETTINGS[name].purpose}{_default(name)} [{variable(name)}]"
        if name in SWITCHES:
            told = purpose.removeprefix("1: ")
            group.add_argument(flag(name), action="store_const", const="1", help=told)
        else:
            group.add_argument(flag(name), metavar=_metavar(name), help=purpose)


def settings_of(parsed: argparse.Namespace) -> Settings:
    """The settings of this process, with the flags that were given."""
    given: dict[str, str | None] = {
        name: value for name, value in vars(parsed).items() if name in SETTINGS
    }
    return from_process(given)


def _metavar(name: str) -> str:
    return "0|1" if isinstance(_standard(name), bool) else name.rsplit("_", maxsplit=1)[-1].upper()


def _default(name: str) -> str:
    default = _standard(name)
    if name in SWITCHES or default in (None, ()):
        return ""
    return f" (default: {int(default) if isinstance(default, bool) else default})"


def _standard(name: str) -> object:
    standard: object = getattr(Settings(), name)
    return standard

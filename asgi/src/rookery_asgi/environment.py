"""Options from variables: ROOKERY_ASGI_ and the option's name, as in ROOKERY_ASGI_ROOT_PATH.

A switch takes 1, true, yes or on and their opposites. An option that may be repeated takes words
as a shell separates them, so that one with a space stands in quotes.
"""

import argparse
import dataclasses
import shlex
from collections.abc import Mapping
from typing import Any

from rookery_asgi.arguments import parser
from rookery_asgi.errors import BadOption
from rookery_asgi.options import Options, flag_of

PREFIX = "ROOKERY_ASGI_"
BUILDING = frozenset({"CFLAGS", "LDFLAGS", "REQUIRE_CORE"})
"""Variables of setup.py."""
SWITCH = {"1": True, "true": True, "yes": True, "on": True} | dict.fromkeys(
    ("0", "false", "no", "off"), False
)
FLAGS = {flag_of(field): field for field in dataclasses.fields(Options)}


def read_variables(variables: Mapping[str, str]) -> dict[str, Any]:
    """What the variables say, under the names of Options, and "app"."""
    found: dict[str, Any] = {}
    if "FORWARDED_ALLOW_IPS" in variables:  # as uvicorn calls it
        found["forwarded_allow_ips"] = variables["FORWARDED_ALLOW_IPS"]
    for name, value in variables.items():
        own = name.removeprefix(PREFIX)
        if own != name and own not in BUILDING:
            found |= {"app": value} if own == "APP" else read_variable(name, value)
    return found


def read_variable(name: str, value: str) -> dict[str, Any]:
    """What one of them says; one that is no option is probably misspelt."""
    field = FLAGS.get("--" + name.removeprefix(PREFIX).lower().replace("_", "-"))
    if field is None:
        raise BadOption(f"{name} is no option")
    try:
        return vars(parser(exit_on_error=False).parse_args(words_of(field, name, value)))
    except argparse.ArgumentError as error:
        raise BadOption(name, error.message) from None


def words_of(field: "dataclasses.Field[Any]", name: str, value: str) -> list[str]:
    """The same on the command line."""
    flag = flag_of(field)
    if isinstance(field.default, bool):
        if value.lower() not in SWITCH:
            raise BadOption(name, f"{value!r} is neither 1 nor 0")
        return [flag if SWITCH[value.lower()] else "--no-" + flag.removeprefix("--")]
    if not isinstance(field.default, tuple):
        return [f"{flag}={value}"]
    try:
        return [f"{flag}={word}" for word in shlex.split(value)]
    except ValueError as error:
        raise BadOption(name, error) from None

"""Options from variables of the environment."""

import dataclasses
import os
import subprocess
from typing import Any

import pytest

from rookery_asgi import Options
from rookery_asgi.cli import read_options
from rookery_asgi.environment import read_variables
from rookery_asgi.errors import BadOption
from rookery_asgi.options import flag_of
from tests.machine import body_of
from tests.serving import APP, LIMIT_SECONDS, ROOT, ask, command, serve

CHOSEN = {"core": "mongoose", "loop": "asyncio", "lifespan": "off", "log_level": "debug"}
CHOSEN |= {"ssl_cert_reqs": "optional"}


def another(field: "dataclasses.Field[Any]") -> Any:
    """A value of an option that is not its default."""
    default = field.default
    if field.name in CHOSEN:
        return CHOSEN[field.name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, tuple):
        return ("first", "a second: word")
    return default + 1 if isinstance(default, int | float) else "other"


def written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(repr, value)) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("field", dataclasses.fields(Options), ids=lambda field: field.name)
def test_every_option_can_be_a_variable(field: "dataclasses.Field[Any]") -> None:
    name = "ROOKERY_ASGI_" + flag_of(field).removeprefix("--").replace("-", "_").upper()
    value = another(field)
    text = "3" if field.name == "fd" else written(value)
    found = read_variables({name: text})[field.name]
    assert (tuple(found) if isinstance(found, list) else found) == (3 if text == "3" else value)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("PORT", "many", "ROOKERY_ASGI_PORT: invalid int value"),
        ("LOOP", "tornado", "ROOKERY_ASGI_LOOP: invalid choice"),
        ("FACTORY", "perhaps", "ROOKERY_ASGI_FACTORY: 'perhaps' is neither 1 nor 0"),
        ("HEADER", "'open", "ROOKERY_ASGI_HEADER: No closing quotation"),
        ("PROT", "1", "ROOKERY_ASGI_PROT is no option"),
    ],
)
def test_a_variable_that_can_not_be_read_is_named(name: str, value: str, why: str) -> None:
    with pytest.raises(BadOption, match=why):
        read_variables({"ROOKERY_ASGI_" + name: value})


def test_variables_of_the_build_and_of_others_are_left_alone() -> None:
    assert read_variables({"ROOKERY_ASGI_CFLAGS": "-g", "ROOKERY_HTTP": "x", "PORT": "1"}) == {}


def test_proxies_may_be_named_as_uvicorn_names_them() -> None:
    variables = {"FORWARDED_ALLOW_IPS": "10.0.0.1"}
    assert read_options(read_variables(variables)).forwarded_allow_ips == "10.0.0.1"


def test_the_server_is_configured_by_variables_alone() -> None:
    variables = {
        "ROOKERY_ASGI_APP": APP,
        "ROOKERY_ASGI_PORT": "0",
        "ROOKERY_ASGI_ROOT_PATH": "/mounted",
        "ROOKERY_ASGI_WORKERS": "2",
    }
    with serve("", port=False, variables=variables) as served:
        assert body_of(ask(served, "/")) == b"no such path"  # it is /mounted/ for the application
        assert served.stop() == 0


def test_what_the_command_line_says_wins() -> None:
    variables = {"ROOKERY_ASGI_ROOT_PATH": "/mounted", "ROOKERY_ASGI_HEADER": "X-A:1"}
    with serve(APP, "--root-path", "", "--header", "X-B: 2", variables=variables) as served:
        said = ask(served, "/")
        assert said.startswith(b"HTTP/1.1 200")
        assert b"x-b: 2\r\n" in said
        assert b"x-a" not in said


@pytest.mark.parametrize(
    ("variables", "why"),
    [({}, "no application was named"), ({"ROOKERY_ASGI_PROT": "1"}, "ROOKERY_ASGI_PROT")],
)
def test_a_wrong_variable_is_one_sentence(variables: dict[str, str], why: str) -> None:
    done = subprocess.run(
        command(""),
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1

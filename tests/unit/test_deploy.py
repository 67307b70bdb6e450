"""What deploy/ has for containers: linted, and true of this repository."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

from rookery.server.settings import SECRET, SETTINGS, variable_name
from tests.places import PROJECT

DEPLOY = PROJECT / "deploy"
CONTAINERFILES = sorted(DEPLOY.glob("Containerfile.*"))
COPIED = re.compile(r"^COPY (?!--from)(.+) \S+$", re.MULTILINE)
BASE = re.compile(r"^FROM (\S+)", re.MULTILINE)
INSTALLED = re.compile(r"\./packages/(\w+)")
SERVERS = ("rookery-a", "rookery-b")


PINNED = re.compile(r"^([a-z0-9.-]+==[^ ;]+)", re.MULTILINE)


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


@pytest.mark.parametrize("path", CONTAINERFILES, ids=lambda path: path.name)
def test_hadolint_has_nothing_to_say(path: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    said = subprocess.run(
        [hadolint, "--no-color", path], capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stdout) == (0, "")


def sources_of(package: str) -> set[str]:
    """The folders of this repository that the wheel of a package is made from."""
    project = tomllib.loads((PROJECT / "packages" / package / "pyproject.toml").read_text())
    forced = project["tool"]["hatch"]["build"]["targets"]["wheel"].get("force-include", {})
    return {"packages", *(each.removeprefix("../../").partition("/")[0] for each in forced)}


@pytest.mark.parametrize("path", CONTAINERFILES, ids=lambda path: path.name)
def test_an_image_copies_what_there_is_and_runs_as_nobody_special(path: Path) -> None:
    text = path.read_text()
    sources = [word for words in COPIED.findall(text) for word in words.split()]
    needed = {each for name in INSTALLED.findall(text) for each in sources_of(name)}
    assert needed <= set(sources)
    assert [word for word in sources if not (PROJECT / word).exists()] == []
    assert text.count("--require-hashes") == 1
    assert re.findall(r"^USER (\S+)", text, re.MULTILINE) == ["10001:10001"]
    assert len(set(BASE.findall(text))) == 1


def test_builds_leave_out_what_no_image_copies() -> None:
    """By the one file that Docker and Podman both read."""
    kept = re.findall(r"^!(\S+)", (PROJECT / ".dockerignore").read_text(), re.MULTILINE)
    copied = {word for path in CONTAINERFILES for word in path.read_text().splitlines()}
    sources = {each for line in copied for group in COPIED.findall(line) for each in group.split()}
    assert sorted(kept) == sorted(sources)
    assert not (PROJECT / ".containerignore").exists()


def read_lock(name: str) -> set[str]:
    """The packages of a lock, each with its version."""
    return set(PINNED.findall((PROJECT / "locks" / f"{name}.txt").read_text()))


def test_the_servers_image_can_keep_its_files_in_s3() -> None:
    """With the versions that are tested."""
    installed = re.findall(
        r"locks/(\w+)\.txt$", (DEPLOY / "Containerfile.server").read_text(), re.MULTILINE
    )
    assert installed == ["s3"]
    more = read_lock("s3") - read_lock("server")
    assert {each.partition("==")[0] for each in more} == {"obstore"}
    assert read_lock("server") < read_lock("s3") <= read_lock("test")


def test_the_compose_file_keeps_to_its_specification() -> None:
    """Read as every tool reads it after YAML's anchors are resolved: unknown keys are refused."""
    assert len(PyCompose.from_json(json.dumps(compose()))) == len(compose()["services"])
    mistaken = compose()
    mistaken["services"]["caddy"]["restarts"] = "always"
    with pytest.raises(ValueError, match="restarts"):
        PyCompose.from_json(json.dumps(mistaken))


def test_everything_that_a_service_names_is_declared() -> None:
    found = compose()
    for service in found["services"].values():
        volumes = {each.split(":")[0] for each in service.get("volumes", ())}
        named = {each for each in volumes if not each.startswith(".")}
        assert named <= found["volumes"].keys()
        assert all((DEPLOY / each).exists() for each in volumes - named)
        assert set(service.get("secrets", ())) <= found["secrets"].keys()
        assert set(service.get("depends_on", ())) <= found["services"].keys()
        # Podman starts no others after a restart of the machine.
        assert service["restart"] == "always"


def test_the_instances_differ_in_their_name_alone() -> None:
    first, second = (yaml.safe_dump(compose()["services"][name]) for name in SERVERS)
    assert first.replace("rookery-a", "rookery-b").replace("data-a", "data-b") == second


def test_an_instance_is_healthy_where_podman_built_it_too() -> None:
    """Its images have no health check, and its tools garble checks of more than a plain word."""
    image = (DEPLOY / "Containerfile.server").read_text()
    words = json.loads(image.partition("    CMD ")[2].partition("\n")[0])
    assert compose()["services"]["rookery-a"]["healthcheck"]["test"] == ["CMD", *words]
    assert len(words) == 1
    assert f"> /usr/local/bin/{words[0]} " in image


def test_the_database_is_healthy_once_the_network_reaches_it() -> None:
    """While its image makes it, a passing server answers on the socket alone."""
    assert "--host=127.0.0.1" in compose()["services"]["database"]["healthcheck"]["test"]


def test_what_the_instances_are_told_are_settings() -> None:
    known = {variable_name(name) for name in SETTINGS}
    known |= {f"{variable_name(name)}_FILE" for name in SECRET}
    told = compose()["services"]["rookery-a"]["environment"]
    assert told.keys() <= known
    # The proxy is where the instances are told that it is, and no password is in plain sight.
    assert (
        told["ROOKERY_TRUSTED_PROXIES"]
        == compose()["networks"]["farm"]["ipam"]["config"][0]["subnet"]
    )
    assert "ROOKERY_DATABASE_URL" not in told

"""What deploy/ asks of a server is what one tells under the names it is asked by, and what the
doctor finds on one."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import run_command
from tests.places import PROJECT
from tests.rookery_process import LIMIT_SECONDS, RookeryProcess, run_rookery

DEPLOY = PROJECT / "deploy"
FOLDER = DEPLOY / "monitoring"
PLACE = re.compile(r"rookery-\w+:\d+")
"""A server as proxies and Prometheus name it in the network that they share."""
NAMING = ("compose.yaml", "Caddyfile", "nginx.conf", "haproxy.cfg", "monitoring/prometheus.yml")
PROBES = {"/readyz": NAMING[:4], "/metrics": NAMING[4:]}
"""What is asked for, by the files that say so."""
OF_CONTAINERS = ("ROOKERY_DATABASE_URL_FILE", "ROOKERY_FILES_URL")
"""Settings that name what only the containers have."""
METRIC = re.compile(r"\b(?:rookery|process)_[a-z_]+\b")
SAMPLE = re.compile(r"^([a-z_]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RookeryProcess]:
    with run_rookery(tmp_path_factory.mktemp("monitoring") / "data") as process:
        yield process


@pytest.fixture(scope="module")
def told(server: RookeryProcess) -> str:
    """The text of /metrics."""
    server.get("/healthz")  # so that a request has been counted
    status, text = server.get("/metrics")
    assert status == 200
    return text


def settings_of_compose() -> dict[str, str]:
    """What compose.yaml tells an instance, as far as it can be had outside of a container."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", (DEPLOY / "compose.yaml").read_text())
    told = yaml.safe_load(text)["services"]["rookery-a"]["environment"]
    return {name: value for name, value in told.items() if name not in OF_CONTAINERS}


def places_asked() -> dict[str, set[str]]:
    """By file, the names under which instances are asked."""
    return {name: set(PLACE.findall((DEPLOY / name).read_text())) for name in NAMING}


def status_of(server: RookeryProcess, path: str, host: str) -> int:
    line = HTTPConnection(server.address.removeprefix("http://"), timeout=LIMIT_SECONDS)
    line.request("GET", path, headers={"host": host})
    with closing(line):
        return line.getresponse().status


def test_instances_are_ready_and_scraped_under_every_name_of_the_examples(tmp_path: Path) -> None:
    asked = places_asked()
    assert set(map(frozenset, asked.values())) == {frozenset({"rookery-a:8000", "rookery-b:8000"})}
    with run_rookery(tmp_path / "data", settings=settings_of_compose()) as instance:
        for path, files in PROBES.items():
            hosts = {host for name in files for host in asked[name]}
            found = {host: status_of(instance, path, host) for host in hosts}
            assert found == dict.fromkeys(hosts, 200), path


def alert_rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panel_queries() -> list[str]:
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def unknown_names(queries: list[str], told: str) -> set[str]:
    wanted = {name for query in queries for name in METRIC.findall(query)}
    assert len(wanted) > 10
    return wanted - set(SAMPLE.findall(told))


def test_every_alert_asks_for_what_is_told(told: str) -> None:
    assert unknown_names([rule["expr"] for rule in alert_rules()], told) == set()


def test_every_panel_asks_for_what_is_told(told: str) -> None:
    assert unknown_names(panel_queries(), told) == set()


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for rule in alert_rules():
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"].keys() == {"summary", "description"}, rule["alert"]


def test_no_panel_lies_over_another() -> None:
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        assert max(columns) < 24
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_no_metric_is_told_twice(told: str) -> None:
    heads = re.findall(r"^# TYPE (\S+)", told, re.MULTILINE)
    assert len(heads) == len(set(heads))


def test_prometheus_is_told_of_the_rules_beside_it() -> None:
    named = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["rule_files"]
    assert [Path(name).name for name in named] == ["alerts.yml"]


def test_the_doctor_looks_at_a_running_installation(server: RookeryProcess) -> None:
    server.until("ready")
    found = run_command("doctor", "--json", data=server.data)
    levels = {each["name"]: each["level"] for each in json.loads(found.stdout)}
    assert found.returncode == 0, found.stdout
    well = ("disk", "database", "durability", "clock", "connections", "schema", "primary")
    assert {name: levels[name] for name in well} == dict.fromkeys(well, "ok")
    assert (levels["backup"], levels["approvers"]) == ("warn", "warn")


def test_a_strict_doctor_fails_for_a_warning_too(server: RookeryProcess) -> None:
    server.until("ready")
    assert run_command("doctor", data=server.data).returncode == 0
    assert run_command("doctor", "--strict", data=server.data).returncode == 1


def test_the_doctor_says_that_there_is_no_database(tmp_path: Path) -> None:
    found = run_command("doctor", data=tmp_path / "nothing", first=True)
    assert found.returncode == 1
    assert "There is no database in" in found.stdout

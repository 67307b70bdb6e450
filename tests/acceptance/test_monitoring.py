"""What deploy/monitoring asks for is what a server tells, and what the doctor finds on one."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import run_command
from tests.rookery_process import PROJECT, RookeryProcess, run_rookery

FOLDER = PROJECT / "deploy" / "monitoring"
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


def test_the_doctor_says_that_there_is_no_database(tmp_path: Path) -> None:
    found = run_command("doctor", data=tmp_path / "nothing", first=True)
    assert found.returncode == 1
    assert "There is no database in" in found.stdout

"""What the doctor makes of what it finds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rookery.core.http_client import HttpAnswer
from rookery.core.protocol.v1 import ServerEntry
from rookery.server.commands.check_results import Level, judge_clock
from rookery.server.commands.doctor import check_disk, check_settings, judge_servers
from rookery.server.commands.doctor_public import (
    check_hidden,
    check_readiness,
    judge_caller,
    judge_certificate,
    judge_inside,
)
from rookery.server.servers.instances import GONE_SECONDS, Instance, InstanceFigures
from rookery.server.servers.probes import SeenCaller
from rookery.server.settings import Settings

NOW = datetime(2030, 5, 1, tzinfo=UTC)
SITE = urlsplit("https://farm.example.org")
HERE = "198.51.100.7"


def levels(settings: Settings) -> dict[str, Level]:
    return {each.name: each.level for each in check_settings(settings)}


def callers(local: str = HERE, **changes: object) -> dict[str, Level]:
    seen = {"address": HERE, "scheme": "https", "host": SITE.netloc, "proxied": True, "time": NOW}
    caller = SeenCaller(**(seen | changes))  # type: ignore[arg-type]
    return {each.name: each.level for each in judge_caller(caller, SITE, local)}


def answer(status: int, body: bytes) -> HttpAnswer:
    return HttpAnswer(status, "", {}, body)


@pytest.mark.parametrize(
    ("days", "left", "level"),
    [
        (90, timedelta(days=60), Level.OK),
        (90, timedelta(days=15), Level.WARN),
        (90, timedelta(days=1), Level.FAIL),
        (0.5, timedelta(hours=6), Level.OK),
        (90, -timedelta(days=1), Level.FAIL),
    ],
)
def test_a_certificate_is_judged_by_how_much_of_its_time_is_left(
    days: float, left: timedelta, level: Level
) -> None:
    until = NOW + left
    assert judge_certificate(until - timedelta(days=days), until, NOW, "TLSv1.3").level is level


@pytest.mark.parametrize(
    ("off", "level"), [(0.2, Level.OK), (-3, Level.WARN), (3, Level.WARN), (60, Level.FAIL)]
)
def test_a_clock_is_judged_by_how_far_it_is_off(off: float, level: Level) -> None:
    there = NOW + timedelta(seconds=off)
    assert judge_clock("clock", "it", there, NOW, NOW + timedelta(seconds=0.1)).level is level


def test_a_proxy_that_passes_everything_on_is_well() -> None:
    assert set(callers().values()) == {Level.OK}


def test_a_proxy_that_hides_the_scheme_the_name_or_the_caller_is_found_out() -> None:
    assert callers(scheme="http")["scheme"] is Level.FAIL
    assert callers(host="rookery-a:8000")["host"] is Level.FAIL
    assert callers("8.8.8.8", address="10.0.0.2")["client address"] is Level.FAIL


def test_from_within_a_network_its_gateway_can_not_be_told_from_a_proxy() -> None:
    assert callers("10.0.0.7", address="10.0.0.1")["client address"] is Level.WARN


def test_what_answers_for_the_server_is_no_server() -> None:
    assert check_readiness(answer(200, b"<html>")).level is Level.FAIL
    not_ready = check_readiness(
        answer(503, b'{"ready":false,"role":"primary","reason":"disk full"}')
    )
    assert (not_ready.level, not_ready.found) == (Level.FAIL, "not ready: disk full")


def test_figures_that_the_world_can_read_are_told() -> None:
    assert check_hidden(answer(200, b"rookery_runs 1")).level is Level.WARN
    assert check_hidden(answer(404, b"")).level is Level.OK


def test_https_without_a_trusted_proxy_can_not_be_right() -> None:
    site = Settings(base_url="https://farm.example.org")
    assert levels(site)["proxies"] is Level.FAIL
    behind = Settings(base_url="https://farm.example.org", trusted_proxies=("127.0.0.1",))
    assert levels(behind)["proxies"] is Level.OK


def test_simulated_workers_are_a_failure() -> None:
    assert levels(Settings(simulated_fleet=True))["simulated fleet"] is Level.FAIL


def test_a_disk_below_its_reserve_is_a_failure() -> None:
    assert check_disk(Settings(data=Path("/"), disk_reserve_mb=10**12)).level is Level.FAIL
    assert check_disk(Settings(data=Path("/"), disk_reserve_mb=0)).level is Level.OK


def judge_server(**changes: object) -> dict[str, Level]:
    entry: dict[str, object] = {
        "version": "0.1",
        "role": "primary",
        "time": NOW,
        "sign_up": False,
        "disk_free_bytes": 10**10,
        "disk_reserve_bytes": 10**8,
        "other_servers": 1,
        "database_up": True,
        "backup_age_seconds": 3600.0,
    }
    told = ServerEntry(**(entry | changes))  # type: ignore[arg-type]
    return {each.name: each.level for each in judge_inside(told)}


def test_what_a_server_tells_approvers_is_judged_as_at_home() -> None:
    assert set(judge_server().values()) == {Level.OK}
    assert judge_server(disk_free_bytes=10**7)["disk"] is Level.FAIL
    assert judge_server(disk_free_bytes=2 * 10**8)["disk"] is Level.WARN
    assert judge_server(backup_age_seconds=3 * 86400.0)["backup"] is Level.WARN
    assert judge_server(backup_age_seconds=None)["backup"] is Level.WARN
    assert judge_server(database_up=False)["database"] is Level.FAIL


def server(name: str, address: str, silent: float = 0.0) -> Instance:
    return Instance(name, address, "0.1", 9, "secondary", NOW, InstanceFigures(), silent)


@pytest.mark.parametrize(
    ("found", "level"),
    [
        ([], Level.OK),
        ([server("a-1", "http://127.0.0.1:8000")], Level.OK),
        ([server("a-1", "http://127.0.0.1:1"), server("a-2", "http://127.0.0.1:2")], Level.OK),
        ([server("a-1", "http://10.0.0.1:1"), server("b-2", "http://10.0.0.2:1")], Level.OK),
        ([server("a-1", "http://127.0.0.1:1"), server("b-2", "http://127.0.0.1:1")], Level.FAIL),
        ([server("a-1", "http://localhost:1"), server("b-2", "http://10.0.0.2:1")], Level.FAIL),
        ([server("a-1", "http://[::1]:1"), server("b-2", "http://b:1", GONE_SECONDS)], Level.OK),
    ],
)
def test_servers_must_be_able_to_reach_one_another(found: list[Instance], level: Level) -> None:
    assert judge_servers(found).level is level


@pytest.mark.parametrize(
    ("seconds", "level"), [(0.9, Level.OK), (-4.0, Level.WARN), (600.0, Level.FAIL)]
)
def test_the_server_whose_clock_is_wrong_is_named(seconds: float, level: Level) -> None:
    right = server("a-1", "http://10.0.0.1:1")
    figures = InstanceFigures(clock_off_seconds=seconds)
    judged = judge_servers([right, replace(right, name="b-2", address="b", figures=figures)])
    assert judged.level is level
    assert (level is Level.OK) or f"the clock of b-2 is {figures.clock}" in judged.found

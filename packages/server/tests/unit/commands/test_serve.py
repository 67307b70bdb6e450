"""The flags of a server set its settings."""

from dataclasses import fields
from pathlib import Path
from typing import cast

import pytest

from rookery.core.command import parse_again
from rookery.server.commands.serve import ServeSettings, serve
from rookery.server.settings import Settings, flag_name

GIVEN: dict[str, tuple[str, object]] = {
    "data": ("=/srv/farm", Path("/srv/farm")),
    "database_url": ("=postgresql://rookery@db/farm", "postgresql://rookery@db/farm"),
    "host": ("=0.0.0.0", "0.0.0.0"),
    "port": ("=9000", 9000),
    "http": ("=rookery-asgi", "rookery-asgi"),
    "base_url": ("=https://farm.example", "https://farm.example"),
    "allowed_hosts": ("=a.example,b.example", ("a.example", "b.example")),
    "trusted_proxies": ("=10.0.0.1", ("10.0.0.1",)),
    "threadpool_tokens": ("=77", 77),
    "task_semaphore_size": ("=7", 7),
    "cross_approval": ("=1", True),
    "limit_per_address": ("=1", True),
    "mind_github_quota": ("=0", False),
    "nets_url": ("=https://nets.example", "https://nets.example"),
    "log_format": ("=json", "json"),
    "log_level": ("=debug", "debug"),
    "access_log": ("=1", True),
    "detect_blocking": ("=1", True),
}


@pytest.mark.parametrize("name", [each.name for each in fields(ServeSettings)])
def test_a_flag_sets_its_setting(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"ROOKERY_{name.upper()}", raising=False)
    text, value = GIVEN[name]
    flags = cast("ServeSettings", parse_again(serve, [flag_name(name) + text])["flags"])
    assert getattr(Settings(), name) != value
    assert getattr(flags.read(), name) == value

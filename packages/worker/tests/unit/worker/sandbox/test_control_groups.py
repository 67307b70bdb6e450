"""Whether a worker may divide its control group, and how it does."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.worker.sandbox import control_groups
from rookery.worker.sandbox.control_groups import (
    NoGroups,
    group_name,
    has_run_out_of_memory,
    make_group,
    share_own_group,
)
from rookery.worker.sandbox.enclosure import Enclosure

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Folders like the kernel's, with this process in the group /service."""

    def grow(
        controllers: str = "cpu memory pids",
        own: str = "/service",
        kind: str = "cgroup2",
        root: str = "/",
    ) -> Path:
        mounts, named, base = tmp_path / "mounts", tmp_path / "named", tmp_path / "top/service"
        mounts.write_text(f"30 23 0:26 {root} {tmp_path / 'top'} rw,nosuid - {kind} none rw\n")
        named.write_text(f"4:memory:/elsewhere\n0::{own}\n")
        for group in (base, base / "outside"):
            group.mkdir(parents=True)
            for name in ("cgroup.events", "cgroup.procs", "cgroup.subtree_control"):
                (group / name).touch()
            (group / "cgroup.controllers").write_text(controllers)
        monkeypatch.setattr(control_groups, "MOUNTS", mounts)
        monkeypatch.setattr(control_groups, "OWN", named)
        monkeypatch.setattr(control_groups, "SYSTEMD", tmp_path / "systemd")
        return base

    return grow


def test_the_workers_group_is_divided(tree: Tree) -> None:
    base = tree()
    assert share_own_group() == base
    assert (base / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_group_that_was_divided_before_stays_as_it_is(tree: Tree) -> None:
    base = tree(own="/service/outside")
    (base / "cgroup.subtree_control").write_text("memory pids")
    assert share_own_group() == base
    assert (base / "cgroup.subtree_control").read_text() == "memory pids"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"kind": "cgroup"}, "this machine has none of version 2"),
        ({"own": "/../service"}, "this machine has none of version 2"),
        ({"root": "/../.."}, "this machine has none of version 2"),
        ({"controllers": "cpu memory"}, "limit neither memory nor processes"),
        ({"own": "/gone"}, "No such file"),
    ],
)
def test_without_groups_a_sentence_says_why(tree: Tree, given: dict[str, str], why: str) -> None:
    tree(**given)
    with pytest.raises(NoGroups, match=why):
        share_own_group()


def test_systemd_must_have_given_the_group_away(tree: Tree, tmp_path: Path) -> None:
    base = tree()
    (tmp_path / "systemd").touch()
    with pytest.raises(NoGroups, match="has not delegated"):
        share_own_group()
    assert share_own_group(granted=True) == base


def test_a_group_that_another_launcher_left_under_the_same_number_is_no_obstacle(
    tmp_path: Path,
) -> None:
    """A plain folder has none of the kernel's files, so it is made, and no more."""
    (tmp_path / group_name()).mkdir()
    with pytest.raises(FileNotFoundError, match=r"cgroup\.procs"):
        make_group(tmp_path, Enclosure(way="namespaces"))


def test_a_group_without_memory_left_is_seen(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    for text, expected in (("max 7\noom 1\noom_kill 0\n", False), ("max 7\noom_kill 12\n", True)):
        events.write_text(text)
        number = os.open(events, os.O_RDONLY)
        assert has_run_out_of_memory(number) is expected
        os.close(number)

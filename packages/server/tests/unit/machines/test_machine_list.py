"""The list of machines, as a page shows it."""

from datetime import timedelta

from rookery.server.machines.hosts import FleetSnapshot, Roster
from rookery.server.machines.list.page import (
    MachineFilters,
    MachineListData,
    make_machine_list_view,
)
from tests.makers import NOW


def test_how_old_it_is_is_told_where_another_server_told_it() -> None:
    told = {None: "", NOW - timedelta(seconds=7): "As of 7 s ago."}
    for since, words in told.items():
        picture = FleetSnapshot(NOW, (), {}, {}, since)
        data = MachineListData(NOW, None, MachineFilters(), Roster(picture, ()))
        assert make_machine_list_view(data).as_of == words

"""Runs, and the machines that play them."""

import urllib.parse
from collections.abc import Mapping

from rookery.client.caller import Caller, place
from rookery.protocol import v1


class RunCalls(Caller):
    """Everything that can be done to runs."""

    def submit(self, args: Mapping[str, object]) -> v1.Made:
        """Create a run; `args` by the names that runs have."""
        return self._post(place("runs"), args, v1.Made)

    def preview(self, args: Mapping[str, object]) -> v1.Preview:
        """What `submit` would make of it."""
        return self._post(place("runs", "preview"), args, v1.Preview)

    def runs(
        self,
        *,
        state: v1.ListedState = v1.ListedState.UNFINISHED,
        owner: str = "",
        page: int = 1,
        size: int = 50,
    ) -> v1.RunList:
        query = {"state": state.value, "page": page, "size": size}
        if owner:
            query["owner"] = owner
        return self._get(f"{place('runs')}?{urllib.parse.urlencode(query)}", v1.RunList)

    def run(self, run_id: str) -> v1.RunDetails:
        return self._get(place("runs", run_id), v1.RunDetails)

    def summary(self, run_id: str, style: v1.HouseStyle = v1.HouseStyle.FISHTEST) -> str:
        path = f"{place('runs', run_id, 'summary.txt')}?style={style}"
        return self._transport.call("GET", path).decode("utf-8", "replace")

    def approve(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "approve"), {}, v1.RunSummary)

    def stop(self, run_id: str, message: str = "") -> v1.RunSummary:
        return self._post(
            place("runs", run_id, "stop"), v1.StopBody(message=message), v1.RunSummary
        )

    def modify(self, run_id: str, wish: v1.ModifyBody) -> v1.RunSummary:
        return self._post(place("runs", run_id, "modify"), wish, v1.RunSummary)

    def purge(self, run_id: str) -> v1.PurgeAnswer:
        return self._post(place("runs", run_id, "purge"), {}, v1.PurgeAnswer)

    def delete(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "delete"), {}, v1.RunSummary)

    def restore(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "restore"), {}, v1.RunSummary)

    def workers(self) -> v1.WorkerList:
        return self._get(place("workers"), v1.WorkerList)

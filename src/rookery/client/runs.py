"""Runs, and the machines that play them."""

import urllib.parse
from collections.abc import Mapping

from rookery.client.caller import Caller, place
from rookery.core.complaint import Complaint
from rookery.protocol import v1

WHOLE_ID = 24


class NotOneRun(Complaint):
    """The beginning of an id fits no run, or several."""

    exit_code = 2


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
        prefix: str = "",
        page: int = 1,
        size: int = 50,
    ) -> v1.RunList:
        """With a prefix those of any state whose id begins so."""
        query = {"state": state.value, "page": page, "size": size}
        query |= {name: text for name, text in (("owner", owner), ("prefix", prefix)) if text}
        return self._get(f"{place('runs')}?{urllib.parse.urlencode(query)}", v1.RunList)

    def run(self, run_id: str) -> v1.RunDetails:
        return self._get(place("runs", run_id), v1.RunDetails)

    def find_run(self, beginning: str) -> str:
        """The id of the one run that begins so; raises NotOneRun."""
        if len(beginning) >= WHOLE_ID:
            return beginning
        found = self.runs(prefix=beginning, size=5).runs
        if len(found) == 1:
            return found[0].id
        if not found:
            raise NotOneRun(f"There is no run whose id begins with {beginning}.")
        some = ", ".join(run.id for run in found[:3])
        raise NotOneRun(f"Several runs begin with {beginning}: {some}; give more of the id.")

    def address_of(self, run_id: str) -> str:
        """Where people look at a run."""
        return f"{self._transport.server}/runs/{run_id}"

    def summary(self, run_id: str, style: v1.HouseStyle = v1.HouseStyle.FISHTEST) -> str:
        path = f"{place('runs', run_id, 'summary.txt')}?style={style}"
        return self._transport.call("GET", path).decode("utf-8", "replace")

    def approve(self, run_id: str, records: str = "") -> v1.RunSummary:
        """`records` says which records were looked at, as the run's details name them."""
        body = v1.ApproveBody(records=records)
        return self._post(place("runs", run_id, "approve"), body, v1.RunSummary)

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

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

    def withdraw(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "withdraw"), {}, v1.RunSummary)

    def reopen(self, run_id: str) -> v1.RunSummary:
        return self._post(place("runs", run_id, "reopen"), {}, v1.RunSummary)

    def diagnosis(self, run_id: str) -> v1.Diagnosis:
        """Why it does not move, or that it does."""
        return self._get(place("runs", run_id, "diagnosis"), v1.Diagnosis)

    def samples(self, run_id: str) -> v1.SampleList:
        return self._get(place("runs", run_id, "samples"), v1.SampleList)

    def residuals(self, run_id: str, page: int = 1, size: int = 50) -> v1.ResidualList:
        return self._get(_page(run_id, "residuals", page, size), v1.ResidualList)

    def bad_tasks(self, run_id: str, page: int = 1, size: int = 50) -> v1.BadTaskList:
        return self._get(_page(run_id, "bad_tasks", page, size), v1.BadTaskList)

    def provenance(self, run_id: str, page: int = 1, size: int = 50) -> v1.ProvenanceList:
        return self._get(_page(run_id, "provenance", page, size), v1.ProvenanceList)

    def games(self, run_id: str, page: int = 1, size: int = 50) -> v1.RunGameList:
        return self._get(_page(run_id, "games", page, size), v1.RunGameList)

    def machine(self, name: str) -> v1.WorkerDetails:
        return self._get(place("workers", name), v1.WorkerDetails)

    def block_machine(self, name: str, message: str) -> v1.WorkerDetails:
        body = v1.BlockBody(message=message)
        return self._post(place("workers", name, "block"), body, v1.WorkerDetails)

    def unblock_machine(self, name: str) -> v1.WorkerDetails:
        return self._post(place("workers", name, "unblock"), {}, v1.WorkerDetails)

    def workers(self) -> v1.WorkerList:
        return self._get(place("workers"), v1.WorkerList)


def _page(run_id: str, what: str, page: int, size: int) -> str:
    return f"{place('runs', run_id, what)}?{urllib.parse.urlencode({'page': page, 'size': size})}"

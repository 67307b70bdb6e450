"""Points of charts, provenance and machines as rows, and back."""

from rookery.core.machine import Machine
from rookery.core.purge import Culprit, Purging, Toll
from rookery.service.fleet.ports import (
    Block,
    Contribution,
    Provenance,
    Recalled,
    Sample,
    WorkerResults,
)
from rookery.storage.fleet.codecs import Columns, Row, results_of
from rookery.storage.fleet.json import Json, clean
from rookery.storage.fleet.thinning import place

_CULPRIT: Json[Culprit] = Json(Culprit)
_TOLL: Json[Toll] = Json(Toll)


def sample_columns(sample: Sample) -> Columns:
    return (
        sample.run,
        place(sample),
        sample.at,
        sample.games,
        *sample.pentanomial,
        sample.llr,
        sample.cores,
    )


def sample_of(row: Row) -> Sample:
    pentanomial = (row["p0"], row["p1"], row["p2"], row["p3"], row["p4"])
    return Sample(row["run"], row["at"], row["games"], pentanomial, row["llr"], row["cores"])


def provenance_columns(each: Provenance) -> Columns:
    return (
        each.run,
        each.task,
        each.at,
        each.games,
        clean(each.runner),
        clean(each.version),
        clean(each.new_hash),
        clean(each.base_hash),
        each.factor,
        each.latency_ms,
    )


def provenance_of(row: Row) -> Provenance:
    return Provenance(**{name: row[name] for name in Provenance.__dataclass_fields__})


def contribution_of(row: Row) -> Contribution:
    return Contribution(row["user_name"], row["arch"], row["machines"], results_of(row))


def worker_results_of(row: Row) -> WorkerResults:
    machine = Machine(row["user_name"], row["key"], row["cores"], 0, modified=row["modified"])
    return WorkerResults(machine.long_name, machine.user, results_of(row))


def purging_columns(each: Purging) -> Columns:
    culprit = None if each.culprit is None else _CULPRIT.text(each.culprit)
    return each.run, clean(each.actor), each.revive, culprit, _TOLL.text(each.toll)


def purging_of(row: Row) -> Purging:
    culprit = None if row["culprit"] is None else _CULPRIT.value(row["culprit"])
    return Purging(row["run"], row["actor"], row["revive"], culprit, _TOLL.value(row["toll"]))


def block_columns(block: Block) -> Columns:
    assert block.message is not None
    return clean(block.short_name), clean(block.message), block.at


def recalled_columns(each: Recalled) -> Columns:
    return clean(each.short_name), " ".join(each.seen), each.last


def recalled_of(row: Row) -> Recalled:
    return Recalled(row["short_name"], tuple(row["seen"]), row["last"])

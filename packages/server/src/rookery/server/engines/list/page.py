"""Engines: the list, and the page of an engine with its record, presets and history."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from urllib.parse import quote

from starlette.datastructures import QueryParams
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.model.kinds import CHOSEN
from rookery.core.model.presets import list_presets, read_value
from rookery.core.protocol.v1 import EngineVersion
from rookery.server.boundary.domains import Domain
from rookery.server.engines.edit.form import (
    GROUPS,
    FieldChange,
    list_changes,
    spell_record,
)
from rookery.server.engines.engines import BUILT_IN_NAMES, Engines, UnknownEngine
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.http.form import NUMBER, TICK, WHOLE, InputKind
from rookery.server.http.pages.filters import read_search
from rookery.server.http.pages.page import redirect_to, tell_outcome
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import Form
from rookery.server.http.session import Session
from rookery.server.http.signatures import Parts
from rookery.server.show.kinds import FORM_PAGES
from rookery.server.show.rights import plays_engine
from rookery.server.show.run_paces import NO_PACES, load_paces

HERE = "/engines"
ONE = "/engines/{name}"
MOST_TESTS = 8
MOST_VERSIONS = 50
RECIPES = {
    "make": "make, OpenBench style",
    "stockfish": "make, Stockfish style",
    "cargo": "cargo",
    "cmake": "cmake",
    "commands": "custom commands",
    "installed": "no build",
}
NETS = {
    "none": "no nets",
    "embedded": "nets named in the source",
    "build_variable": "nets by a build variable",
    "uci_option": "nets by a UCI option",
}


pages = Pages(ONE)
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class EngineParts(Parts):
    """Where the data of an engine's page is read."""

    engines: Engines
    privacy: Privacy
    fleet: Fleet
    reads: FleetReads
    clock: Clock


@pages(f"GET {HERE}", "records are in memory, rendered in a thread")
async def engine_list(
    query: QueryParams, viewer: Actor | None, privacy: Privacy, fleet: Fleet
) -> Page:
    records = await privacy.list_engines(name_of(viewer))
    active = await fleet.views.active()
    playing = Counter(side for run in active for side in {each.engine for each in run.plan.sides})
    text = read_search(query)
    found = [each for each in records if text.casefold() in f"{each.name} {each.source}".casefold()]
    shown = {
        "text": text,
        "engines": found,
        "presets": {each.name: len(list_presets(each)) for each in found},
        "unfinished": playing,
        "recipes": RECIPES,
        "nets": NETS,
        "may_add": viewer is not None,
    }
    return Page("engines.html", shown)


# The page of one engine.


@pages(f"GET {ONE}", "awaits two queries, rendered in a thread")
async def engine_page(name: str, viewer: Actor | None, parts: EngineParts) -> Page:
    engines, privacy, now = parts.engines, parts.privacy, parts.clock.now()
    show = partial(privacy.visible_part, viewer)
    record = await privacy.find_engine(name_of(viewer), name)
    active = await parts.fleet.views.active()
    versions = await engines.versions(name, name_of(viewer))
    hidden = privacy.hidden(name_of(viewer))
    query = FinishedRunsQuery(page_size=MOST_TESTS, engine=name, hidden=hidden)
    finished = await parts.reads.finished(query)
    present = [run for run in active if plays_engine(run, {name}) and not plays_engine(run, hidden)]
    present = sorted(present, key=lambda run: run.created, reverse=True)[:MOST_TESTS]
    may_write = viewer is not None and engines.may_write(viewer, record)
    shown = {
        "now": now,
        "engine": record,
        "recipe": RECIPES[record.recipe.kind],
        "nets": NETS[record.nets.use],
        "built_in": name in BUILT_IN_NAMES,
        "groups": _list_groups(record),
        "presets": [(preset.name, describe_preset(preset)) for preset in list_presets(record)],
        "versions": list_versions(versions),
        "open_runs": [show(run) for run in present],
        "paces": await load_paces(parts.fleet, parts.reads, present, now),
        "finished": [show(run) for run in finished],
        "no_paces": NO_PACES,
        "may_write": may_write,
        "may_remove": may_write and bool(versions) and not versions[-1].removed,
    }
    return Page("engine.html", shown)


def _list_groups(record: EngineRecord) -> Iterator[tuple[str, Sequence[tuple[str, str | int]]]]:
    """The record in words, without empty fields. Presets have their own table."""
    texts = spell_record(record)
    for group in GROUPS:
        words = {each.name: dict(each.options) for each in group.inputs}
        shown = (
            (each.label, _describe(texts[each.name], each.kind, words[each.name]))
            for each in group.inputs
            if each.name not in ("name", "source", "private", "team")
        )
        yield group.title, tuple((label, text) for label, text in shown if text)


def _describe(text: str, kind: InputKind, words: Mapping[str, str]) -> str | int:
    if kind is TICK:
        return "yes" if text else ""
    if kind in (NUMBER, WHOLE) and text.isdigit():
        return int(text)
    return words.get(text, text)


PRESET_WORDS = {
    "tc": "time control",
    "new_options": "options, new",
    "base_options": "options, base",
    "new_tag": "new",
    "base_tag": "against",
    "num_games": "games",
    "auto_purge": "automatic purge",
}
"""The labels of a submission's fields. Fields without one are shown by their names."""


def describe_preset(preset: PresetRecord) -> Iterator[tuple[str, str]]:
    """The settings of a preset in words, without defaults."""
    settings = dict(preset.settings)
    if settings.get("new_options") == settings.get("base_options"):
        settings["options"] = settings.pop("new_options", "")
        settings.pop("base_options", None)
    for name, text in settings.items():
        value = read_value(text)
        if name in CHOSEN and isinstance(value, dict):
            yield FORM_PAGES[name].describe_preset(value)
        elif text:
            shown = ("no", "yes")[value] if isinstance(value, bool) else text
            yield PRESET_WORDS.get(name, name.replace("_", " ")), shown


def list_versions(
    versions: Sequence[EngineVersion],
) -> Iterator[tuple[EngineVersion, Sequence[FieldChange]]]:
    """The versions, newest first, each with its changes. They are compared where the page is
    rendered, in a thread."""
    shown = versions[-MOST_VERSIONS:]
    for each, before in zip_longest(reversed(shown), shown[-2::-1]):
        record = before.record if before else None
        yield each, () if each.removed else list_changes(record, each.record)


# Commands on an engine, for members of its team and approvers.


@pages(f"POST {ONE}/restore", "awaits one write", where=Domain.LOOP)
async def restore_engine(
    name: str, viewer: Actor, parts: EngineParts, form: Form, session: Session
) -> Response:
    """Restore an earlier version of an engine, as the JSON API does."""
    text = form.text("version")
    version = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1

    async def restore() -> str:
        _check_seen(parts, viewer, name)
        await parts.engines.restore(name, version, viewer)
        return f"{name} is restored to version {version}."

    await tell_outcome(session, restore())
    return await _lead_back(parts, name)


@pages(f"POST {ONE}/remove", "awaits one write", where=Domain.LOOP)
async def remove_engine(name: str, viewer: Actor, parts: EngineParts, session: Session) -> Response:
    async def remove() -> str:
        _check_seen(parts, viewer, name)
        await parts.engines.remove(name, viewer)
        return f"{name} is removed. Its tests stay, and you can restore it from its history."

    await tell_outcome(session, remove())
    return await _lead_back(parts, name)


def _check_seen(parts: EngineParts, viewer: Actor, name: str) -> None:
    """Raises UnknownEngine for an engine that the viewer may not see. One that was removed may be
    named."""
    if not parts.privacy.may_see_engine(viewer.name, name):
        raise UnknownEngine(name=name)


async def _lead_back(parts: EngineParts, name: str) -> Response:
    known = {record.name for record in await parts.engines.list()}
    return redirect_to(f"{HERE}/{quote(name)}" if name in known else HERE)

"""Engines: the list, and the page of an engine with its record, presets and history."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.model.kinds import CHOSEN
from rookery.core.model.presets import list_presets, read_value
from rookery.core.model.run import Run
from rookery.core.protocol.v1 import EngineVersion
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.edit.form import (
    GROUPS,
    FieldChange,
    list_changes,
    spell_record,
)
from rookery.server.engines.engines import BUILT_IN_NAMES, UnknownEngine
from rookery.server.engines.privacy import name_of
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.kinds import FORM_PAGES
from rookery.server.farm.show.run_paces import NO_PACES, load_paces
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.form import NUMBER, TICK, WHOLE, InputKind
from rookery.server.http.pages.filters import read_search
from rookery.server.http.pages.formatting import format_count
from rookery.server.http.pages.page import (
    plays_engine,
    redirect_to,
    render_page,
    viewer_of,
)
from rookery.server.http.scope import request_info_of, session_of

EngineCommand = Callable[[Site, str, Actor], Awaitable[str]]

HERE = "/engines"
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


@runs(Domain.THREAD, "records are in memory, rendered in a thread")
async def engine_list(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    records = await site.privacy.list_engines(name_of(viewer))
    active = await site.fleet.views.active()
    playing = Counter(side for run in active for side in {each.engine for each in run.plan.sides})
    text = read_search(request.query_params)
    found = [each for each in records if text.casefold() in f"{each.name} {each.source}".casefold()]
    view = {
        "text": text,
        "engines": found,
        "presets": {each.name: len(list_presets(each)) for each in found},
        "unfinished": playing,
        "recipes": RECIPES,
        "nets": NETS,
        "may_add": viewer is not None,
    }
    return await render_page(request, "engines.html", view)


# The page of one engine.


@runs(Domain.THREAD, "awaits two queries, rendered in a thread")
async def engine_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    now, show = site.clock.now(), partial(site.privacy.visible_part, viewer)
    record = await site.privacy.find_engine(name_of(viewer), str(request.path_params["name"]))
    name, active = record.name, await site.fleet.views.active()
    versions = await site.engines.versions(name, name_of(viewer))
    query = FinishedRunsQuery(
        page_size=MOST_TESTS, engine=name, hidden=site.privacy.hidden(name_of(viewer))
    )
    finished = await site.reads.finished(query)
    present = [r for r in active if plays_engine(r, {name}) and _sees(site, viewer, r)]
    present = sorted(present, key=lambda run: run.created, reverse=True)[:MOST_TESTS]
    may_write = viewer is not None and site.engines.may_write(viewer, record)
    view = {
        "now": now,
        "engine": record,
        "recipe": RECIPES[record.recipe.kind],
        "nets": NETS[record.nets.use],
        "built_in": name in BUILT_IN_NAMES,
        "groups": _list_groups(record),
        "presets": [(preset.name, describe_preset(preset)) for preset in list_presets(record)],
        "versions": list_versions(versions),
        "open_runs": [show(run) for run in present],
        "paces": await load_paces(site.fleet, site.reads, present, now),
        "finished": [show(run) for run in finished],
        "no_paces": NO_PACES,
        "may_write": may_write,
        "may_remove": may_write and bool(versions) and not versions[-1].removed,
    }
    return await render_page(request, "engine.html", view)


def _sees(site: Site, viewer: Actor | None, run: Run) -> bool:
    return site.privacy.may_see(name_of(viewer), run)


def _list_groups(record: EngineRecord) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
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


def _describe(text: str, kind: InputKind, words: Mapping[str, str]) -> str:
    if kind is TICK:
        return "yes" if text else ""
    if kind in (NUMBER, WHOLE) and text.isdigit():
        return format_count(int(text)) if int(text) else ""
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


@runs(Domain.LOOP, "awaits one write")
async def restore_engine(request: Request) -> Response:
    """Restore an earlier version of an engine, as the JSON API does."""
    text = request_info_of(request.scope).form.text("version")
    version = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1

    async def restore(site: Site, name: str, actor: Actor) -> str:
        await site.engines.restore(name, version, actor)
        return f"{name} is restored to version {version}."

    return await _command(request, restore)


@runs(Domain.LOOP, "awaits one write")
async def remove_engine(request: Request) -> Response:
    async def remove(site: Site, name: str, actor: Actor) -> str:
        await site.engines.remove(name, actor)
        return f"{name} is removed. Its tests stay, and you can restore it from its history."

    return await _command(request, remove)


async def _command(request: Request, work: EngineCommand) -> Response:
    site, actor = site_of(request), await viewer_of(request)
    session, name = session_of(request.scope), str(request.path_params["name"])
    here = f"{HERE}/{quote(name)}"
    if actor is None:
        return redirect_to(f"/login?next={quote(here)}")
    try:
        if not site.privacy.may_see_engine(actor.name, name):
            raise UnknownEngine(name=name)
        session.flash(await work(site, name, actor))
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
    known = {record.name for record in await site.engines.list()}
    return redirect_to(here if name in known else HERE)


def routes() -> list[BaseRoute]:
    one = f"{HERE}/{{name}}"
    return [
        Route(HERE, engine_list, methods=["GET"]),
        Route(one, engine_page, methods=["GET"]),
        Route(f"{one}/restore", restore_engine, methods=["POST"]),
        Route(f"{one}/remove", remove_engine, methods=["POST"]),
    ]

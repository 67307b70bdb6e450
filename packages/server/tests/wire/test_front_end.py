"""A site fetches the charts and the board once, where it may and can."""

import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.server.app import front_end
from tests.fakes import RecordedLog
from tests.twins.sites import SETTINGS, MemorySite, make_site, open_site

pytestmark = pytest.mark.anyio

NPM = """#!/bin/sh
echo fetched >> "$(dirname "$0")/calls"
[ -e "$(dirname "$0")/broken" ] && { echo "no network" >&2; exit 1; }
for file in uplot/dist/uPlot.iife.min.js uplot/dist/uPlot.min.css \\
    @lichess-org/pgn-viewer/dist/lichess-pgn-viewer.min.js \\
    @lichess-org/pgn-viewer/dist/lichess-pgn-viewer.css; do
    mkdir -p "node_modules/$(dirname "$file")"
    echo "$file" > "node_modules/$file"
done
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose npm writes down that it was called."""
    for name, text in (("node", "#!/bin/sh\n"), ("npm", NPM)):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    return tmp_path / "bin"


def site_at(data: Path, log: RecordedLog | None = None, *, wanted: bool = True) -> MemorySite:
    return make_site(replace(SETTINGS, data=data, front_end=wanted), log=log)


async def test_it_is_fetched_once_and_linked_with_its_licences(tools: Path, tmp_path: Path) -> None:
    async with open_site(site_at(tmp_path)) as site:
        assert "Licences" not in (await site.browser.get("/login")).text
        await site.parts.front_end()
        await site.parts.front_end()
        assert "Licences" in (await site.browser.get("/login")).text
        script = await site.browser.get(site.parts.assets.address("uplot.js"))
        assert script.text == "uplot/dist/uPlot.iife.min.js\n"
        io = site.parts.threads.io
        assert await io((tools / "calls").read_text) == "fetched\n"
        kept = await io(lambda: front_end.read_fetched(front_end.find_folders(tmp_path)))
        assert set(kept) == {*front_end.FILES, front_end.LICENCES}


async def test_pages_do_without_and_a_failure_is_told(tools: Path, tmp_path: Path) -> None:
    log = RecordedLog()
    async with open_site(site_at(tmp_path, log)) as site:
        await site.parts.threads.io((tools / "broken").touch)
        await site.parts.front_end()
        await site.parts.front_end()
        assert (await site.browser.get("/")).status_code == 200
        assert log.events().count("front_end_missing") == 1
        assert log.fields("front_end_missing") == {"why": "no network"}


async def test_nothing_is_fetched_where_the_operator_wants_none(
    tools: Path, tmp_path: Path
) -> None:
    async with open_site(site_at(tmp_path, wanted=False)) as site:
        await site.parts.front_end()
        assert not await site.parts.threads.io((tools / "calls").exists)

"""Pictures of every page, with contact sheets: what `scripts/shots` runs.

Two farms are seeded, a small and a large one, and served one after the other. A real Chromium opens
each page as a visitor and as an approver; a page that is wider than its window, that breaks a rule
of accessibility or whose console complains is named at the end, and the exit code says so. With
`--docs` it takes the pictures of README and docs anew instead.
"""

import argparse
import html
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.shots_for_docs import take_docs
from scripts.shots_of_farms import (
    FARMS,
    FOR_VISITORS,
    PAGES,
    PASSWORD,
    ServedFarm,
    find_chat,
    find_names,
    serve_farm,
)
from tests.pages.axe import find_violations
from tests.pages.chromium import Tab, chromium
from tests.places import PROJECT

PICTURES = PROJECT / "docs" / "pictures"
NEWCOMER = "newcomer@example.org"
OUT = PROJECT / ".cache" / "shots"
SIZES = {"desk": (1280, 900), "tablet": (768, 1024), "phone": (390, 844)}
LOOKS = (
    *(("desk", "light"), ("desk", "dark"), ("tablet", "light")),
    *(("phone", "light"), ("phone", "dark")),
)
"""The combinations of device and theme. Tables are shown as tables from 700 px on; the tablet shows
whether they fit, for which one theme is enough."""
TALLEST = 2600


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture, and the problems of its page."""

    name: str
    file: Path
    faults: tuple[str, ...]


def log_in(tab: Tab, address: str) -> None:
    tab.open(f"{address}/login")
    fill_form(tab, username="alva", password=PASSWORD)
    assert tab.ask("location.pathname") != "/login", tab.text()


def take_shots(tab: Tab, farm: ServedFarm, name: str, out: Path, only: str) -> Iterator[Shot]:
    names = find_names(farm.address) | get_mailed_links(tab, farm)
    for path in FOR_VISITORS:
        if only in path:
            yield from take_page(tab, farm, path, names, out, f"{name} visitor")
    log_in(tab, farm.address)
    tab.open(f"{farm.address}/ask")
    names["chat"] = find_chat(str(tab.ask("document.documentElement.outerHTML")))
    for path in PAGES:
        if only in path:
            yield from take_page(tab, farm, path, names, out, name)


def get_mailed_links(tab: Tab, farm: ServedFarm) -> dict[str, str]:
    """Lets somebody sign up and alva ask for a new password; returns the links in the mail, which
    lead to pages that nothing else links to."""
    tab.open(f"{farm.address}/signup")
    fill_form(tab, username="newcomer", email=NEWCOMER, password=PASSWORD, password2=PASSWORD)
    tab.open(f"{farm.address}/login/reset")
    fill_form(tab, who="alva")
    return {
        "confirm": farm.find_token(NEWCOMER, "/confirm"),
        "reset": farm.find_token("alva@", "/login/new-password"),
        "unsubscribe": farm.find_token("alva@", "/unsubscribe"),
    }


def fill_form(tab: Tab, **fields: str) -> None:
    for name, text in fields.items():
        tab.fill(f"main form [name={name}]", text)
    tab.submit("main form button[type=submit]")


def take_page(
    tab: Tab, farm: ServedFarm, path: str, names: dict[str, str], out: Path, of: str
) -> Iterator[Shot]:
    for size, shade in LOOKS:
        width, height = SIZES[size]
        name = f"{of} {path} {size} {shade}"
        known = len(tab.complaints())
        tab.size(width, height, dark=shade == "dark")
        tab.open(farm.address + path.format_map(names))
        time.sleep(0.4)
        tall = min(TALLEST, int(tab.ask("document.documentElement.scrollHeight")))
        tab.size(width, max(height, tall), dark=shade == "dark")
        file = out / f"{slug(name)}.png"
        tab.picture(file)
        yield Shot(name, file, tuple(find_faults(tab, width, known, path)))


def find_faults(tab: Tab, width: int, known: int, path: str) -> Iterator[str]:
    wide = int(tab.ask("document.documentElement.scrollWidth"))
    if wide > width:
        yield f"{wide} px wide"
    if path != "/nowhere" and "not found" in str(tab.ask("document.title")).lower():
        yield "not found"
    yield from find_violations(tab)
    for complaint in tab.complaints()[known:]:
        if path != "/nowhere":
            yield complaint.partition('"text": ')[2][:100] or complaint[:100]


def slug(name: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in name).strip("_")


def make_sheets(tab: Tab, shots: Sequence[Shot], out: Path) -> list[Path]:
    """Makes contact sheets of twenty pictures each, as pages and as pictures."""
    sheets = []
    for number in range(0, len(shots), 20):
        file = out / f"sheet_{number // 20 + 1:02}.html"
        file.write_text(sheet_text(shots[number : number + 20]))
        tab.size(1600, 1000)
        tab.open(file.as_uri())
        tab.size(1600, min(6000, int(tab.ask("document.documentElement.scrollHeight"))))
        tab.picture(file.with_suffix(".png"))
        sheets.append(file.with_suffix(".png"))
    return sheets


def sheet_text(shots: Sequence[Shot]) -> str:
    cells = "".join(
        f'<figure><a href="{shot.file.name}"><img src="{shot.file.name}" alt=""></a>'
        f"<figcaption>{html.escape(shot.name)}</figcaption></figure>"
        for shot in shots
    )
    style = (
        "body{display:grid;grid-template-columns:repeat(5,1fr);gap:12px;font:12px sans-serif}"
        "figure{margin:0;border:1px solid #999}img{width:100%;max-height:420px;object-fit:cover;"
        "object-position:top}"
    )
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{cells}"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/shots", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="where the pictures go")
    parser.add_argument("--farm", choices=FARMS, action="append", help="one farm only")
    parser.add_argument(
        "--docs", action="store_true", help="take the pictures of README and docs anew instead"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="pages whose path has TEXT")
    return parser.parse_args()


def main() -> int:
    given = read_arguments()
    out: Path = given.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    if given.docs:
        taken = take_docs(PICTURES, out)
        print(f"{len(taken)} pictures in {PICTURES}; the texts beside them may quote old numbers")
        return 0
    shots: list[Shot] = []
    with chromium(out / "profile") as tab:
        for farm in given.farm or FARMS:
            print(f"Seeding the farm with {farm} data.", flush=True)
            folder = out / f"farm_{farm}"
            folder.mkdir()
            with serve_farm(folder, FARMS[farm]) as served:
                tab.call("Network.clearBrowserCookies")
                for shot in take_shots(tab, served, farm, out, given.only):
                    print(shot.name, *shot.faults, sep="  ", flush=True)
                    shots.append(shot)
            shutil.rmtree(folder, ignore_errors=True)
        sheets = make_sheets(tab, shots, out)
    shutil.rmtree(out / "profile", ignore_errors=True)
    faults = [shot for shot in shots if shot.faults]
    print(f"{len(shots)} pictures and {len(sheets)} contact sheets in {out}")
    for shot in faults:
        print(f"  {shot.name}: {'; '.join(shot.faults)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

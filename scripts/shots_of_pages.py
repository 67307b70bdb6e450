"""Pictures of every page, with contact sheets: what `scripts/shots` runs.

Two farms are seeded, a small and a large one, and served one after the other. A real Chromium opens
each page as a visitor and as an approver; a page that is wider than its window, that breaks a rule
of accessibility or whose console complains is named at the end, and the exit code says so.
"""

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forks import PROJECT
from tests.pages.axe import find_violations
from tests.pages.chromium import Tab, chromium
from tests.ports import kept_port
from tests.rookery_process import COMMAND, environment

OUT = PROJECT / ".cache" / "shots"
PASSWORD = "rookery-demo-farm"
FARMS = {
    "little": ("--runs", "4", "--machines", "3", "--history", "3"),
    "much": ("--runs", "200", "--machines", "10000", "--history", "1000"),
}
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
TALLEST = 2600
PAGES = (
    "/",
    "/tests",
    "/tests?page=2",
    "/tests/new",
    "/runs/{pending}",
    "/runs/{playing}",
    "/runs/{passed}",
    "/runs/{failed}",
    "/runs/{tune}",
    "/runs/{passed}/tasks",
    "/runs/{playing}/tasks",
    "/runs/{passed}/stats",
    "/runs/{passed}/elo",
    "/runs/{passed}/games",
    "/runs/{passed}/games/{game}",
    "/runs/{passed}/compare?with={failed}",
    "/tests/new?clone={passed}",
    "/machines",
    "/machines/{machine}",
    "/machines/add",
    "/contributors",
    "/engines",
    "/engines/Stockfish",
    "/engines/Stockfish/progress",
    "/engines/new",
    "/ask",
    "/log",
    "/errors",
    "/nets",
    "/books",
    "/teams",
    "/users",
    "/users/birk",
    "/profile",
    "/profile/notifications",
    "/tokens",
    "/sprt",
    "/server",
    "/programs",
    "/api",
    "/nowhere",
)
FOR_VISITORS = ("/", "/login", "/signup", "/login/reset", "/runs/{playing}", "/machines", "/ask")


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture, and what was wrong with its page."""

    name: str
    file: Path
    faults: tuple[str, ...]


@contextmanager
def served_farm(folder: Path, size: Sequence[str]) -> Iterator[str]:
    """A seeded farm at an address."""
    data = str(folder / "data")
    seed = [*COMMAND, "demo", "seed", *size, "--data", data]
    subprocess.run(seed, cwd=PROJECT, env=environment(), check=True, stdout=subprocess.DEVNULL)
    with kept_port() as port, (folder / "serve.log").open("w") as log:
        line = [*COMMAND, "serve", "--data", data, "--port", str(port)]
        # With charts and boards, as people have them.
        settings = environment() | {"ROOKERY_FRONT_END": "1"}
        server = subprocess.Popen(line, cwd=PROJECT, env=settings, stdout=log, stderr=log)
        try:
            wait_until_ready(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)


def wait_until_ready(address: str) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(f"{address}/readyz"):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def find_names(address: str) -> dict[str, str]:
    """A run in each state and a machine, for the addresses of pages."""
    runs = read_json(f"{address}/api/v1/runs?limit=200")["runs"]
    over = read_json(f"{address}/api/v1/runs?state=finished&limit=200")["runs"]
    names = {
        "machine": "none",
        "pending": "",
        "playing": "",
        "passed": "",
        "failed": "",
        "tune": "",
    }
    for run in (*runs, *over):
        for word in states_of(run):
            names[word] = names[word] or run["id"]
    some = next((each["id"] for each in (*runs, *over)), "0" * 24)
    machines = read_json(f"{address}/api/v1/workers")["workers"]
    if machines:
        names["machine"] = machines[0]["name"]
    found = {word: name or some for word, name in names.items()}
    return found | {"game": find_game(address, found["passed"])}


def find_game(address: str, run: str) -> str:
    """The first game that the page of a run's games leads to."""
    with urllib.request.urlopen(f"{address}/runs/{run}/games") as answer:
        links = re.findall(rf'/runs/{run}/games/(\d+/\d+)"', answer.read().decode())
    return next(iter(links), "0/0")


def states_of(run: dict[str, Any]) -> Iterator[str]:
    if run["state"] == "pending":
        yield "pending"
    if run["state"] == "active":
        yield "tune" if run["kind"] == "spsa" else "playing"
    if run["state"] == "finished" and run["kind"] == "sprt":
        yield "passed" if run.get("flag") == "green" else "failed"


def read_json(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def log_in(tab: Tab, address: str) -> None:
    tab.open(f"{address}/login")
    tab.ask("document.querySelector('[name=username]').value = 'alva'")
    tab.ask(f"document.querySelector('[name=password]').value = {json.dumps(PASSWORD)}")
    tab.click("main form button[type=submit]")
    tab.until("location.pathname !== '/login' && document.readyState === 'complete'")


def take_shots(tab: Tab, address: str, farm: str, out: Path, only: str) -> Iterator[Shot]:
    names = find_names(address)
    for path in FOR_VISITORS:
        if only in path:
            yield from take_page(tab, address, path, names, out, f"{farm} visitor")
    log_in(tab, address)
    for path in PAGES:
        if only in path:
            yield from take_page(tab, address, path, names, out, farm)


def take_page(
    tab: Tab, address: str, path: str, names: dict[str, str], out: Path, farm: str
) -> Iterator[Shot]:
    for size, (width, height) in SIZES.items():
        for shade in ("light", "dark"):
            name = f"{farm} {path} {size} {shade}"
            known = len(tab.complaints())
            tab.size(width, height, dark=shade == "dark")
            tab.open(address + path.format_map(names))
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
    """Contact sheets, twenty pictures each, as pages and as pictures of them."""
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
    parser.add_argument("--only", default="", metavar="TEXT", help="pages whose path has TEXT")
    return parser.parse_args()


def main() -> int:
    given = read_arguments()
    out: Path = given.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    shots: list[Shot] = []
    with chromium(out / "profile") as tab:
        for farm in given.farm or FARMS:
            print(f"Seeding the farm with {farm} data.", flush=True)
            folder = out / f"farm_{farm}"
            folder.mkdir()
            with served_farm(folder, FARMS[farm]) as address:
                tab.call("Network.clearBrowserCookies")
                for shot in take_shots(tab, address, farm, out, given.only):
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

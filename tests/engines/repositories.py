"""Small git repositories with an engine in them, one for each way engines are built."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TINY = (Path(__file__).parent / "tiny.c").read_text()
"""An engine of one file."""

OPENBENCH_MAKEFILE = """\
EXE = tiny
CC = cc
EVALFILE = none
all:
\t$(CC) -O1 -DEVALFILE='"$(EVALFILE)"' -o $(EXE) tiny.c
"""


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder with history, by the address and commit that an order names."""

    url: str
    commit: str


def repository(folder: Path, files: Mapping[str, str]) -> Repository:
    """One commit with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "--quiet")
    return Repository(str(folder), commit(folder))


def commit(folder: Path) -> str:
    """All that is in the folder, as a new commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "A version")
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    ended = subprocess.run(
        ("git", *person, *words), cwd=folder, check=True, capture_output=True, text=True
    )
    return ended.stdout.strip()


def openbench(folder: Path) -> Repository:
    return repository(folder, {"Makefile": OPENBENCH_MAKEFILE, "tiny.c": TINY})


STOCKFISH_MAKEFILE = """\
EXE = stockfish
NET = {net}
ifeq ($(ARCH),native)
override ARCH := x86-64
endif
profile-build: net
\t$(COMPCXX) -x c++ -fpermissive -w -O1 -DARCH_$(subst -,_,$(ARCH)) \
\t\t-DEVALFILE='"$(NET)"' -o $(EXE) tiny.c
net:
\t@test -f $(NET) || (echo "no net, and no network to fetch it" && false)
build: profile-build
.PHONY: net build profile-build
"""

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.13)
project(tiny C)
add_executable(tiny tiny.c)
"""

CARGO_TOML = """\
[package]
name = "tiny"
version = "0.1.0"
edition = "2021"
"""
CARGO_LOCK = """\
version = 3

[[package]]
name = "tiny"
version = "0.1.0"
"""
RUST = """\
use std::io::BufRead;
fn main() {
    if std::env::args().nth(1).as_deref() == Some("bench") {
        println!("4242 nodes 1000000 nps");
        return;
    }
    for line in std::io::stdin().lock().lines() {
        match line.unwrap().split(' ').next() {
            Some("uci") => println!("id name Tiny\\nuciok"),
            Some("isready") => println!("readyok"),
            Some("go") => println!("bestmove g1f3"),
            Some("quit") => return,
            _ => (),
        }
    }
}
"""


def stockfish(folder: Path, net: str, bench: str = "") -> Repository:
    """Named by its header as Stockfish's net is, and not to be built without it."""
    text = TINY.replace("%d nodes 1000000 nps", bench).replace(", net, BENCH", ", net")
    files = {
        "src/Makefile": STOCKFISH_MAKEFILE.format(net=net),
        "src/evaluate.h": f'#define EvalFileDefaultName "{net}"\n',
        "src/tiny.c": text if bench else TINY,
    }
    return repository(folder, files)


def cmake(folder: Path) -> Repository:
    return repository(folder, {"CMakeLists.txt": CMAKE_LISTS, "tiny.c": TINY})


def cargo(folder: Path) -> Repository:
    files = {"Cargo.toml": CARGO_TOML, "Cargo.lock": CARGO_LOCK, "src/main.rs": RUST}
    return repository(folder, files)


KESTRELET = (Path(__file__).parent / "kestrelet.c").read_text()
"""An engine of one file that plays whole games."""
KESTRELET_MAKEFILE = """\
EXE = kestrelet
CC = cc
all:
\t$(CC) -O1 -o $(EXE) kestrelet.c
"""
KESTRELET_BENCHES = {"main": 186_629, "piece-places": 1_279_035}


def kestrelet(folder: Path) -> Repository:
    """Two branches; on the second one pieces are valued by their place. Messages name the bench."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "Makefile").write_text(KESTRELET_MAKEFILE)
    texts = {"main": KESTRELET, "piece-places": KESTRELET.replace("PLACES 0", "PLACES 1")}
    subjects = {"main": "Look two plies ahead", "piece-places": "Value pieces by their place"}
    for branch, text in texts.items():
        if branch != "main":
            git(folder, "checkout", "--quiet", "-b", branch)
        (folder / "kestrelet.c").write_text(text)
        message = f"{subjects[branch]}\n\nBench: {KESTRELET_BENCHES[branch]}"
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", message)
    git(folder, "checkout", "--quiet", "main")
    return Repository(str(folder), git(folder, "rev-parse", "HEAD"))

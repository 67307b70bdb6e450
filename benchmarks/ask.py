"""How well and how fast Ask finds commits: recall, order, queries a second, CPU, size of the index.

    PYTHONPATH=src:. python benchmarks/ask.py REPOSITORY [--questions FILE] [--passages 10000]

Indexes the messages of all commits of a local git repository, clone or bare, in a database of its
own. The questions that come along are about Stockfish; each names the commit that answers it, and
counts as answered when that is among the ten found first. MRR is the mean of 1 / place of the
answer, 0 where it was not found. For the speed, copies fill the index up to so many passages.
"""

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from msgspec.structs import replace

from rookery.server.ask.passage_index import PassageIndex
from rookery.server.ask.passages import Asker, Document, PassageKind
from rookery.server.ask.retrieval import Bm25Retriever
from rookery.server.ask.thesaurus import Lexicon, read_lexicon, weigh_equally
from rookery.server.db import migrations
from rookery.server.db.embedded.server import open_server
from rookery.server.db.pool import Pool, Queries, open_pool

QUESTIONS = Path(__file__).parent / "ask_questions.txt"
FOUND = 10
SLICE = 100
ROUNDS = 5
TABLES = ("documents", "passages", "postings", "frequencies", "scopes")


@dataclass(frozen=True, slots=True)
class Question:
    section: str
    commit: str
    text: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--misses", action="store_true", help="print where each answer stood")
    uvloop.run(measure(parser.parse_args()))


@asynccontextmanager
async def opened(data: Path) -> AsyncIterator[tuple[Pool, Queries]]:
    """A database of its own and one connection to it, whose process can be watched."""
    queries = Queries.load()
    async with open_server(data) as server:
        await migrations.migrate(server.target, queries, migrations.load_migrations())
        async with open_pool(server.target, instance="benchmark", size=1) as pool:
            yield pool, queries


async def measure(options: argparse.Namespace) -> None:
    questions = list(read_questions(options.questions))
    commits = list(read_commits(options.repository))
    with tempfile.TemporaryDirectory(prefix="rookery-ask-") as folder:
        async with opened(Path(folder)) as (pool, queries):
            lexicon = read_lexicon()
            stop_words = lexicon.stop_words
            index = PassageIndex(pool, queries, stop_words)
            await fill(index, commits)
            await pool.execute("VACUUM ANALYZE")
            size = await index.measure()
            print(f"index: {size.passages:,} passages, {await measure_size(pool):.1f} MB on disk")
            plain = Bm25Retriever(pool, queries, stop_words, weigh_equally)
            widened = Bm25Retriever(pool, queries, stop_words, lexicon.thesaurus.widen)
            await print_recall(questions, {"without": plain, "with": widened}, options.misses)
            await grow(index, commits, options.passages)
            await pool.execute("VACUUM ANALYZE")
            size = await index.measure()
            print(f"\nspeed over {size.passages:,} passages, one question at a time:")
            await print_speed(pool, queries, questions, lexicon)


def read_questions(path: Path) -> Iterator[Question]:
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            commit, _, text = line.partition(" ")
            yield Question(section, commit, text)


def read_commits(repository: Path) -> Iterator[Document]:
    form = "--format=%H%x00%aN%x00%at%x00%B%x01"
    command = ["git", "-C", str(repository), "log", form]
    log = subprocess.run(command, check=True, capture_output=True).stdout.decode(errors="replace")
    for entry in log.split("\x01"):
        if "\0" in entry:
            commit, author, at, message = entry.strip("\n").split("\0", 3)
            title, _, body = message.partition("\n")
            yield Document(
                key=f"commit:{commit}",
                kind=PassageKind.COMMIT,
                title=title,
                body=body,
                url="",
                engine="engine",
                user=author,
                time=datetime.fromtimestamp(int(at), UTC),
                commit=commit,
            )


async def fill(index: PassageIndex, commits: Sequence[Document]) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(commits), SLICE):
        await index.put(commits[first : first + SLICE])
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"indexed {len(commits):,} commits in {seconds:.1f} s, {cpu:.1f} s CPU of ours")


async def grow(index: PassageIndex, commits: Sequence[Document], passages: int) -> None:
    """Copies commits at random until there are so many passages."""
    chance = random.Random(1)
    while (size := (await index.measure()).passages) < passages:
        many = min(SLICE, passages - size)
        chosen = chance.choices(commits, k=many)
        await index.put(
            replace(each, key=f"copy:{size}.{number}", body=f"{each.body} copy{size + number}")
            for number, each in enumerate(chosen)
        )


async def measure_size(pool: Pool) -> float:
    total = 0
    for table in TABLES:
        total += await pool.fetchval(f"SELECT pg_total_relation_size('ask_{table}')")
    return total / 1e6


async def print_recall(
    questions: Sequence[Question], retrievers: dict[str, Bm25Retriever], misses: bool
) -> None:
    places = {
        name: [await find_place(retriever, question) for question in questions]
        for name, retriever in retrievers.items()
    }
    print(f"\n{'':<12} {'':<18} recall@10   MRR")
    for section in dict.fromkeys(question.section for question in questions):
        for name, found in places.items():
            of = [p for p, q in zip(found, questions, strict=True) if q.section == section]
            right = [place for place in of if place]
            mrr = sum(1 / place for place in right) / len(of)
            print(
                f"{section:<12} {name + ' thesaurus':<18} {len(right):>3} of {len(of)}   {mrr:.2f}"
            )
    if misses:
        for number, question in enumerate(questions):
            where = " ".join(f"{found[number]:>3}" for found in places.values())
            print(f"  {where}  {question.text}")


async def find_place(retriever: Bm25Retriever, question: Question) -> int:
    """Where the answer stands among the first ten, from 1; 0 for nowhere."""
    found = await retriever.search(question.text, Asker(), limit=FOUND)
    commits = [each.commit for each in found]
    return commits.index(question.commit) + 1 if question.commit in commits else 0


async def print_speed(
    pool: Pool, queries: Queries, questions: Sequence[Question], lexicon: Lexicon
) -> None:
    for name, widen in (
        ("without", weigh_equally),
        ("with", lexicon.thesaurus.widen),
    ):
        retriever = Bm25Retriever(pool, queries, lexicon.stop_words, widen)
        await run_round(retriever, questions)
        backend = await pool.fetchval("SELECT pg_backend_pid()")
        cpu, theirs = time.process_time(), read_cpu(backend)
        waits = [wait for _ in range(ROUNDS) for wait in await run_round(retriever, questions)]
        cpu, theirs = time.process_time() - cpu, read_cpu(backend) - theirs
        assert await pool.fetchval("SELECT pg_backend_pid()") == backend
        print(
            f"{name + ' thesaurus':<18} {len(waits) / sum(waits):>6.0f} queries/s,"
            f" median {1e3 * statistics.median(waits):.1f} ms, worst {1e3 * max(waits):.1f} ms,"
            f" CPU {1e3 * cpu / len(waits):.1f} ms of ours"
            f" and {1e3 * theirs / len(waits):.1f} ms of PostgreSQL a query"
        )


async def run_round(retriever: Bm25Retriever, questions: Sequence[Question]) -> list[float]:
    waits = []
    for question in questions:
        began = time.perf_counter()
        await retriever.search(question.text, Asker(), limit=FOUND)
        waits.append(time.perf_counter() - began)
    return waits


def read_cpu(pid: int) -> float:
    """Seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()

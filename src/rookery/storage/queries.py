"""Named queries: SQL lies in files, each query with its name and a line of purpose."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rookery.storage.problems import Problem

FOLDER = Path(__file__).parent / "sql" / "queries"
HEADER = re.compile(r"^-- name: (?P<name>[a-z0-9_]+)\n-- (?P<purpose>\S.*)\n", re.MULTILINE)


class BadQueryFile(Problem):
    """The query file {path} is malformed: {reason}."""


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    purpose: str
    sql: str


class Queries:
    """All queries by name; loaded once, at the start."""

    def __init__(self, queries: Iterable[Query]) -> None:
        self._queries: Mapping[str, Query] = {query.name: query for query in queries}

    def __getitem__(self, name: str) -> str:
        return self._queries[name].sql

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries.values())

    @classmethod
    def load(cls, folder: Path = FOLDER) -> "Queries":
        """Reads the files; it blocks, so call it before the loop runs or in a thread."""
        found: dict[str, Query] = {}
        for path in sorted(folder.glob("*.sql")):
            for query in parse(path.read_text(encoding="utf-8"), path):
                if query.name in found:
                    raise BadQueryFile(path=path, reason=f"{query.name} exists twice")
                found[query.name] = query
        return cls(found.values())


def parse(text: str, path: Path) -> list[Query]:
    heads = list(HEADER.finditer(text))
    if text.count("-- name:") != len(heads):
        raise BadQueryFile(path=path, reason="each name needs a line of purpose after it")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        Query(head["name"], head["purpose"], text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]

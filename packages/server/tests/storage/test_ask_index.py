"""The index job on PostgreSQL: whatever happens, the index is what a rebuild would make of it."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace as with_fields

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.model.run import Run
from rookery.server.ask import indexing
from rookery.server.ask.corpus import DocPage
from rookery.server.ask.history import CommitLog, Histories, HistoryRows, ReadCommit
from rookery.server.ask.indexing import CorpusRows, CursorMoved
from rookery.server.ask.passage_index import PassageIndex
from rookery.server.ask.uploads import StoredUpload, UploadRows
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from tests.database import pool_on
from tests.makers import NOW, OWNER, pairs, run_id
from tests.storage.farm.stores import UNKNOWN, opened
from tests.storage.indexed_farm import (
    EMPTY,
    ENGINES,
    HISTORY,
    SECRET,
    STOP_WORDS,
    WORDS,
    Farm,
    Killed,
    make_commit,
    make_secret_run,
    make_upload,
    use_farm,
)


class Changed(RuleBasedStateMachine):
    """Everything that may happen to what is indexed, in any order."""

    database: Target
    queries: Queries

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.runner.run(self._open())
        self.steps = 0
        self.runs: dict[str, Run] = {}
        self.uploads: dict[str, StoredUpload] = {}
        self.indexer = self.farm.indexer()

    async def _open(self) -> None:
        pool = await self.stack.enter_async_context(pool_on(self.database))
        await pool.execute(EMPTY)
        store = await self.stack.enter_async_context(opened(self.database, self.queries))
        self.farm = Farm(pool, self.queries, await store.take())
        self.documents = UploadRows(pool, self.queries)
        self.histories = HistoryRows(pool, self.queries)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            with self.runner:
                try:
                    self.runner.run(self.check())
                finally:
                    self.runner.run(self.stack.aclose())

    async def check(self) -> None:
        await self.indexer.catch_up()
        assert await self.farm.found_by(hidden=["owls~Hidden"]) == set()
        followed = await self.farm.dump()
        assert followed == await self.farm.rebuilt()

    def put(self, run: Run, said: str = "") -> None:
        self.runs[run.id] = run
        self.runner.run(self.farm.commit(run, said=said))

    def change(self, number: int, said: str = "", **status: Any) -> None:
        run = list(self.runs.values())[number % len(self.runs)]
        self.put(replace(run, status=replace(run.status, **status)), said)

    @rule(engine=st.sampled_from(ENGINES), words=st.sampled_from(WORDS), approved=st.booleans())
    def submit(self, engine: str, words: str, approved: bool) -> None:
        words = words if engine == "Public" else SECRET
        self.put(make_secret_run(f"run{len(self.runs)}", engine, words, approved=approved))

    @precondition(lambda self: self.runs)
    @rule(number=st.integers(0, 9), words=st.sampled_from(WORDS))
    def modify(self, number: int, words: str) -> None:
        run = list(self.runs.values())[number % len(self.runs)]
        self.put(replace(run, plan=with_fields(run.plan, info=words)), "a new text")

    @precondition(lambda self: self.runs)
    @rule(number=st.integers(0, 9), won=st.integers(1, 50), finished=st.booleans())
    def play(self, number: int, won: int, finished: bool) -> None:
        run = list(self.runs.values())[number % len(self.runs)]
        tally = replace(run.tally, tasks=1, results=pairs(ll=10, even=50, ww=won))
        status = replace(run.status, finished=finished)
        self.put(replace(run, tally=tally, status=status))

    @precondition(lambda self: self.runs)
    @rule(number=st.integers(0, 2), deleted=st.booleans())
    def delete_or_restore(self, number: int, deleted: bool) -> None:
        self.change(number, finished=True, deleted=deleted)

    @precondition(lambda self: self.runs)
    @rule(number=st.integers(0, 9), approver=st.sampled_from(("", "boris")))
    def approve_or_withdraw(self, number: int, approver: str) -> None:
        self.change(number, "approval", approver=approver)

    @rule(numbers=st.lists(st.integers(0, 5), min_size=1, unique=True))
    def fetch_commits(self, numbers: list[int]) -> None:
        self.runner.run(self.histories.add_commits([*map(make_commit, numbers)]))

    @rule()
    def forget_history(self) -> None:
        self.runner.run(self.histories.remove(HISTORY))

    @rule(name=st.sampled_from("abc"), words=st.sampled_from(WORDS))
    def upload(self, name: str, words: str) -> None:
        found = self.runner.run(self.documents.add(make_upload(name)))
        self.uploads[name] = found
        self.runner.run(self.documents.settle(found, words))

    @precondition(lambda self: self.uploads)
    @rule(number=st.integers(0, 2), shared=st.booleans())
    def share(self, number: int, shared: bool) -> None:
        upload = list(self.uploads.values())[number % len(self.uploads)]
        self.runner.run(self.documents.share(upload, shared))

    @precondition(lambda self: self.uploads)
    @rule(number=st.integers(0, 2))
    def remove_upload(self, number: int) -> None:
        upload = self.uploads.pop(list(self.uploads)[number % len(self.uploads)])
        self.runner.run(self.documents.forget([upload.blob]))

    @rule(text=st.sampled_from(WORDS))
    def update_docs(self, text: str) -> None:
        self.farm.pages = (DocPage("new", f"# New\n\n{text}"),)
        self.indexer = self.farm.indexer()

    @invariant()
    def catch_up_now_and_then(self) -> None:
        self.steps += 1
        if self.steps % 3 == 0:
            self.runner.run(self.indexer.catch_up())

    @rule(slices=st.integers(0, 3), in_transaction=st.booleans())
    def die_and_restart(self, slices: int, in_transaction: bool) -> None:
        dying = self.farm.mortal(slices, in_transaction=in_transaction)
        try:
            self.runner.run(dying.catch_up())
        except Killed:
            self.indexer = self.farm.indexer()


def test_after_any_changes_the_index_equals_a_rebuild(
    database: Target, queries: Queries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "DOCUMENTS_AT_A_TIME", 2)
    monkeypatch.setattr(indexing, "LONGEST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(Changed, "database", database, raising=False)
    monkeypatch.setattr(Changed, "queries", queries, raising=False)
    run_state_machine_as_test(
        Changed,
        settings=settings(
            max_examples=6,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_only_those_who_may_see_an_engine_find_what_is_told_of_it(
    database: Target, queries: Queries
) -> None:
    async def test(farm: Farm) -> None:
        run = make_secret_run("a", "owls~Hidden")
        await farm.commit(run, said=f"{SECRET} stopped")
        await HistoryRows(farm.pool, farm.queries).add_commits([make_commit(1)])
        await farm.indexer().catch_up()
        assert await farm.found_by() == {"run", "action", "commit"}
        assert await farm.found_by(hidden=["owls~Hidden"]) == set()

    use_farm(database, queries, test)


def test_what_authors_wrote_is_found_once_an_approver_has_let_it_onto_machines(
    database: Target, queries: Queries
) -> None:
    async def test(farm: Farm) -> None:
        run = make_secret_run("a", "Public", approved=False)
        run = replace(run, plan=with_fields(run.plan, info="what the submitter says"))
        await farm.commit(run)
        indexer = farm.indexer()
        await indexer.catch_up()
        assert await farm.found_by() == set()
        await farm.commit(replace(run, status=replace(run.status, approver="boris")))
        await indexer.catch_up()
        assert await farm.found_by() == {"run"}

    use_farm(database, queries, test)


def test_an_upload_is_for_its_uploader_until_it_is_shared(
    database: Target, queries: Queries
) -> None:
    async def test(farm: Farm) -> None:
        rows, indexer = UploadRows(farm.pool, farm.queries), farm.indexer()
        upload = await rows.add(make_upload("a"))
        assert upload.state == "waiting"
        await rows.settle(upload, SECRET)
        await indexer.catch_up()
        found = await rows.get(upload.id)
        assert found is not None
        assert found.state == "indexed"
        assert await farm.found_by(name="sven") == set()
        assert await farm.found_by(name=OWNER.name) == {"upload"}
        await rows.share(upload, True)
        await indexer.catch_up()
        assert await farm.found_by(name="sven") == {"upload"}

    use_farm(database, queries, test)


def test_a_look_ends_though_runs_change_faster_than_they_are_read(
    database: Target, queries: Queries
) -> None:
    async def test(farm: Farm) -> None:
        run = make_secret_run("a", "Public")

        class BusyIndex(PassageIndex):
            """Sees the run change whenever a slice is written."""

            slices = 0

            async def apply(self, *args: Any, **then: Any) -> None:
                self.slices += 1
                assert self.slices < 10
                await super().apply(*args, **then)
                results = pairs(ll=10, even=50, ww=self.slices)
                await farm.commit(replace(run, tally=replace(run.tally, tasks=1, results=results)))

        await farm.commit(run)
        await farm.indexer(BusyIndex(farm.pool, farm.queries, STOP_WORDS)).catch_up()
        assert await farm.found_by() == {"run"}

    use_farm(database, queries, test)


def test_of_two_processes_that_index_at_once_one_gives_up_its_slice(
    database: Target, queries: Queries
) -> None:
    async def test(farm: Farm) -> None:
        await farm.commit(make_secret_run("a", "Public"))
        rows = CorpusRows(farm.pool, farm.queries)
        stale = await rows.cursor("runs")
        await farm.indexer().catch_up()
        index = PassageIndex(farm.pool, farm.queries, STOP_WORDS)
        ahead = indexing.IndexCursor(99, UNKNOWN)

        async def move(write: Any) -> None:
            await indexing.move_cursor("runs", stale, ahead, write)

        with pytest.raises(CursorMoved):
            await index.remove([f"run/{run_id('a')}"], then=move)
        assert await farm.found_by() == {"run"}

    use_farm(database, queries, test)


def test_lag_counts_what_was_not_looked_at_yet(database: Target, queries: Queries) -> None:
    async def test(farm: Farm) -> None:
        indexer = farm.indexer()
        await indexer.catch_up()
        await farm.commit(make_secret_run("a", "Public"))
        await HistoryRows(farm.pool, farm.queries).add_commits([make_commit(1), make_commit(2)])
        lag = await indexer.rows.lag()
        assert lag.commits >= 1
        assert lag.documents == 2
        await indexer.catch_up()
        assert await indexer.rows.lag() == indexing.IndexLag()
        assert indexer.stats().commit == await indexer.rows.last_commit()

    use_farm(database, queries, test)


def test_a_rewritten_history_replaces_the_one_before(database: Target, queries: Queries) -> None:
    class Log(CommitLog):
        def __init__(self, head: str, words: Sequence[str], *, rewritten: bool = False) -> None:
            self.head, self.rewritten = head, rewritten
            self._left = [ReadCommit(f"{word:0>40}", "olga", NOW, word) for word in words]

        def next_batch(self) -> list[ReadCommit]:
            batch, self._left = self._left, []
            return batch

        def close(self) -> None:
            """There is no file."""

    async def test(farm: Farm) -> None:
        rows = HistoryRows(farm.pool, farm.queries)
        histories, indexer = Histories(rows, Threads(), SystemClock()), farm.indexer()
        assert await histories.update(HISTORY, lambda _head: Log("a", ["one", SECRET])) == 2
        await indexer.catch_up()
        assert await farm.found_by() == {"commit"}
        (stored,) = await rows.list_all()
        assert (stored.head, stored.commits) == ("a", 2)
        again = Log("b", ["one", "two"], rewritten=True)
        assert await histories.update(stored, lambda _head: again) == 2
        await indexer.catch_up()
        assert await farm.found_by() == set()

    use_farm(database, queries, test)

"""What jobs found out: one contract, held by PostgreSQL and by its twin in memory."""

from collections.abc import AsyncIterator

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.findings import FindingKind, FindingRows
from rookery.server.farm.rules.review import ReviewFacts, SourceFacts
from tests.database import pool_on
from tests.makers import NOW, later
from tests.twins.records import MemoryFindings

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "postgres"])
async def findings(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[FindingRows]:
    if request.param == "memory":
        yield MemoryFindings()
        return
    async with pool_on(database) as pool:
        yield FindingRows(pool, queries)


async def test_a_finding_takes_the_place_of_the_one_before(findings: FindingRows) -> None:
    facts = ReviewFacts(earlier_runs=0, sources=SourceFacts(ancestor=False, nets=("a", "b")))
    await findings.save(FindingKind.REVIEW, "a", ReviewFacts(earlier_runs=1), NOW)
    await findings.save(FindingKind.REVIEW, "a", facts, later(1))
    await findings.save(FindingKind.PROGRESS, "a", {"x": 1}, NOW)
    assert await findings.load(FindingKind.REVIEW, ["a", "b"], ReviewFacts) == {"a": facts}

"""Detection fails the test that blocked the loop, and no other."""

import pytest

from tests.places import IMPORTED, PROJECT

pytest_plugins = ["pytester"]

GUILTY = """
import asyncio, gc, time
from pathlib import Path

def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def test_that_computes():
    async def main():
        compute(0.05)
    asyncio.run(main())

def test_that_was_only_suspected(request):
    async def main():
        if not hasattr(request.config, "ran_before"):
            request.config.ran_before = True
            compute(0.05)
    asyncio.run(main())

def test_that_swallows_a_blocking_call():
    async def main():
        try:
            time.sleep(0)
        except Exception:
            pass
    asyncio.run(main())

def test_that_blocks_on_purpose(may_block_the_loop):
    async def main():
        time.sleep(0)
    asyncio.run(main())

def test_that_collects_garbage():
    heap = [[number] for number in range(400_000)]
    async def main():
        gc.collect()
    asyncio.run(main())
"""


def test_the_guilty_tests_fail_and_the_others_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest((PROJECT / "conftest.py").read_text())
    pytester.makepyfile(GUILTY)
    monkeypatch.setenv("PYTHONPATH", IMPORTED)
    done = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-rA")
    text = done.stdout.str()
    done.assert_outcomes(passed=5, errors=2)  # the call is fine, its teardown says what it did
    assert "ERROR test_the_guilty_tests_fail_and_the_others_pass.py::test_that_computes" in text
    assert "long callback: test_that_computes" in text
    assert "blocking call: time.sleep" in text

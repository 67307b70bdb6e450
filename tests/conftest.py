"""What every test tier shares."""

from tests.detection import may_block_the_loop, pytest_runtest_protocol, violations

__all__ = ["may_block_the_loop", "pytest_runtest_protocol", "violations"]

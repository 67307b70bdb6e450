"""What every test tier shares."""

from tests.detection import may_block_the_loop, violations

__all__ = ["may_block_the_loop", "violations"]

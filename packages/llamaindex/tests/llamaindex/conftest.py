"""The fixtures of this tier, which is for an environment with the extra `llamaindex` alone
(scripts/with_llamaindex.py)."""

from importlib.util import find_spec

from tests.database import *  # noqa: F403 they are what it exports

collect_ignore_glob = [] if find_spec("llama_index") else ["test_*.py"]

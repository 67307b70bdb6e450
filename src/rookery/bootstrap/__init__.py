"""The composition root: settings in, a served house out.

The house has two floors. The ground floor is what everything stands on (database, pool, schema,
keys, lease); it is opened first, because what is built on it needs the real objects. The upper
floor (threads, bridge, watch) is the app's own lifespan. Both are staircases of declared steps:
up in order, down in reverse, each in its domain.
"""

from rookery.bootstrap.house import Prepare, basis, prepare_nothing, site

__all__ = ["Prepare", "basis", "prepare_nothing", "site"]

"""The steps of a start, as `build` takes them: where each runs, and why."""

from rookery.server.boundary.domains import Domain
from rookery.server.http.steps import Step

LIKELIHOOD = Step("compiled likelihood", Domain.THREAD, "a compiler runs, or a library is loaded")
DATABASE = Step(
    "database",
    Domain.LOOP,
    "the supervisor process blocks, the loop waits for its pipe",
    stop_seconds=20.0,
)
SQL_FILES = Step("sql files", Domain.THREAD, "reads files")
POOL = Step(
    "pool", Domain.LOOP, "connections belong to the loop that opened them", stop_seconds=6.0
)
UNFINISHED_UPLOADS = Step("unfinished uploads", Domain.THREAD, "removes files")
SCHEMA = Step("schema", Domain.LOOP, "awaits one connection")
KEY_FILES = Step("key files", Domain.THREAD, "reads files that an earlier version made")
KEYS = Step("keys", Domain.LOOP, "awaits three queries")
LEASE_CONNECTION = Step(
    "lease connection", Domain.LOOP, "heartbeats wait for nobody's query", stop_seconds=6.0
)
LEASE = Step(
    "fence", Domain.LOOP, "a task renews the lease; an embedded database is taken over at once"
)
FLEET = Step(
    "fleet",
    Domain.LOOP,
    "reads every unfinished run into memory; a task commits what changes there",
    stop_seconds=8.0,
)
LISTENING = Step(
    "listening", Domain.LOOP, "one connection of its own hears what other processes tell"
)
THREADS = Step("threads", Domain.LOOP, "sets the size of the pool's default limiter")
BRIDGE = Step("bridge", Domain.LOOP, "threads call this loop through it")
WATCH = Step("watch", Domain.LOOP, "answers a thread that asks four times a second")
EVENTS = Step("events", Domain.LOOP, "remembers what changed last; after a gap it awaits the rows")
FORWARDER = Step(
    "forwarder", Domain.LOOP, "connections to the primary, and a look at the lease, while needed"
)
PRESENCE = Step("presence", Domain.LOOP, "awaits one query every two seconds")
JOBS = Step(
    "fleet jobs",
    Domain.LOOP,
    "slices of a few milliseconds; files are removed in threads",
    before_drain=True,
)
QUOTA = Step("quota", Domain.THREAD, "a task asks GitHub once, in a thread")
STEPS = (
    LIKELIHOOD,
    DATABASE,
    SQL_FILES,
    POOL,
    UNFINISHED_UPLOADS,
    SCHEMA,
    KEY_FILES,
    KEYS,
    LEASE_CONNECTION,
    LEASE,
    FLEET,
    LISTENING,
    THREADS,
    BRIDGE,
    WATCH,
    EVENTS,
    FORWARDER,
    PRESENCE,
    QUOTA,
    JOBS,
)
"""All steps, in the order in which they are taken."""

"""Who a path is for: the worker fleet, other programs, or people."""

import enum

# A worker ends at an error here, whatever it is about.
VERSION_PATH = "/api/request_version"
# It gives its task up at one here.
BEAT_PATH = "/api/beat"
WORKER_PATHS = frozenset(
    {
        VERSION_PATH,
        BEAT_PATH,
        "/api/request_task",
        "/api/update_task",
        "/api/request_spsa",
        "/api/failed_task",
        "/api/stop_run",
        "/api/upload_pgn",
        "/api/worker_log",
    }
)
# Asked by load balancers and monitors, also while the server starts and stops.
PROBE_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
PROGRAM_PATHS = PROBE_PATHS | {"/openapi.json"}
# What people upload is larger than anything else they send.
BINARIES_PATH = "/api/v1/binaries"
NETS_PATH = "/api/v1/nets"
BOOKS_PATH = "/api/v1/books"
# Where workers get source trees, if they get them from us.
SOURCES_PREFIX = "/src/"
STATIC_PREFIX = "/static/"
# The wheel and the scripts for machines that are to work for this server.
HANDOUT_PREFIX = "/worker/"
SIGN_UP_PATH = "/api/v1/users"
# Guarded by itself: a password is exchanged for a token here.
TOKENS_PATH = "/api/v1/tokens"
# Whoever posts here need not be known.
ASKS_NOBODY = frozenset({"/login", "/signup", SIGN_UP_PATH, TOKENS_PATH, "/api/actions"})
PROGRAM_PREFIXES = ("/api/", SOURCES_PREFIX, HANDOUT_PREFIX)


class Audience(enum.Enum):
    """Decides how an answer is shaped, an error above all."""

    WORKER = "worker"
    PROGRAM = "program"
    PERSON = "person"


def audience_of(path: str) -> Audience:
    if path in WORKER_PATHS:
        return Audience.WORKER
    if path.startswith(PROGRAM_PREFIXES) or path == "/api" or path in PROGRAM_PATHS:
        return Audience.PROGRAM
    return Audience.PERSON


def is_same_for_all(path: str) -> bool:
    """Whether the answer never depends on who asks."""
    return path.startswith(STATIC_PREFIX) or path in PROGRAM_PATHS or path in WORKER_PATHS


def is_local(path: str) -> bool:
    """Whether a place to go next lies on this site, whatever a browser makes of it."""
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return plain and path.startswith("/") and not path.startswith("//")

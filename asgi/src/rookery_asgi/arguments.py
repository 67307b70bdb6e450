"""What the command line understands. Nothing has a default here: Options has them all."""

import argparse

from rookery_asgi import __version__
from rookery_asgi.options import Options

LEVELS = ("critical", "error", "warning", "info", "debug")
DEFAULT = Options()
LIMITS = {
    "limit_request_line": "bytes of a request line; beyond them 414",
    "limit_head": "bytes of a request's head; beyond them 431",
    "limit_body": "bytes of a request's body; beyond them 413",
    "limit_connections": "open connections; further clients wait in the backlog",
    "high_water": "bytes of a body or of output that may wait before the other side must",
    "least_bytes": "bytes that must pass within a time-out of a body or of output",
    "timeout_head": "seconds for a request's head, from the connection or its first byte",
    "timeout_keep_alive": "seconds that a connection may be idle between requests",
    "timeout_body": "seconds within which a body must bring --least-bytes",
    "timeout_write": "seconds within which a client must take --least-bytes",
    "timeout_graceful_shutdown": "seconds that a stop waits for running requests and WebSockets",
    "timeout_disconnect": "seconds that they then have after http.disconnect",
    "timeout_lifespan": "seconds for the application's shutdown",
    "limit_max_requests": "requests of a worker, after which another takes its place",
    "limit_max_requests_jitter": "requests that some workers may have beyond that, by chance",
    "limit_worker_age": "seconds after which another worker takes its place",
    "limit_worker_memory": "resident bytes beyond which another worker takes its place",
}
switch = argparse.BooleanOptionalAction


def parser(*, exit_on_error: bool = True) -> argparse.ArgumentParser:
    """Options are named as uvicorn names them; what was not given is not in the outcome."""
    made = argparse.ArgumentParser(
        prog="rookery-asgi",
        description="An ASGI server with a C core.",
        epilog="Every option can also be a variable: --root-path is ROOKERY_ASGI_ROOT_PATH.",
        argument_default=argparse.SUPPRESS,
        exit_on_error=exit_on_error,
    )
    made.add_argument("app", nargs="?", help="the application, as module:attribute")
    made.add_argument("--version", action="version", version=f"rookery-asgi {__version__}")
    add_address(made)
    add_tls(made)
    add_application(made)
    add_processes(made)
    add_websockets(made)
    add_limits(made)
    add_logs(made)
    add_responses(made)
    return made


def add_address(made: argparse.ArgumentParser) -> None:
    """Where to listen, and whom to believe."""
    add = made.add_argument_group("address").add_argument
    add("--host", help=f"listen on all addresses of this host ({DEFAULT.host})")
    add("--port", type=int, help=f"0 takes a free one ({DEFAULT.port})")
    add("--uds", metavar="PATH", help="listen on a unix socket")
    add("--fd", type=int, help="listen on an inherited descriptor")
    add(
        "--bind",
        dest="binds",
        action="append",
        metavar="ADDRESS",
        help="HOST:PORT, unix:PATH[,mode=660] or fd:NUMBER, each with ,plain for no TLS;"
        " may be repeated",
    )
    for name, action in (("--worker-fd", "append"), ("--worker-slot", "store")):
        add(name, action=action, help=argparse.SUPPRESS)
    add("--backlog", type=int, help=f"clients that the kernel lets wait ({DEFAULT.backlog})")
    add(
        "--proxy-headers",
        action=switch,
        help="take address and scheme of clients from X-Forwarded-For and -Proto (on)",
    )
    add("--forwarded-allow-ips", help="whose headers count: addresses, networks or *")


def add_tls(made: argparse.ArgumentParser) -> None:
    """The certificate."""
    add = made.add_argument_group("TLS", "SIGHUP reloads the certificate").add_argument
    add("--ssl-certfile", metavar="PATH", help="certificate chain, as PEM")
    add("--ssl-keyfile", metavar="PATH", help="its key, if in a file of its own")
    add("--ssl-keyfile-password", metavar="TEXT", help="what the key is locked with")
    add("--ssl-ca-certs", metavar="PATH", help="whose certificates clients must have")
    add(
        "--ssl-cert-reqs",
        choices=("none", "optional", "required"),
        help="whether clients must have one (required, where --ssl-ca-certs is given)",
    )
    add("--ssl-crl", metavar="PATH", help="certificates that were revoked, for each of the CAs")
    add("--ssl-ciphers", metavar="LIST", help="of TLS 1.2, as OpenSSL writes them")


def add_application(made: argparse.ArgumentParser) -> None:
    """How the application is loaded and run."""
    add = made.add_argument_group("application").add_argument
    add("--app-dir", metavar="PATH", help="folder to import it from")
    add("--factory", action=switch, help="the attribute makes the application")
    add("--root-path", help="prefix under which a proxy has mounted it")
    add(
        "--lifespan",
        choices=("auto", "on", "off"),
        help="on: it must take part in start and stop; off: it is not asked",
    )
    add(
        "--core",
        choices=("c", "mongoose"),
        help="mongoose: cymongoose in the core's place (docs/adapter.md)",
    )
    add(
        "--loop",
        choices=("auto", "uvloop", "asyncio"),
        help="auto: uvloop where it is installed",
    )


def add_processes(made: argparse.ArgumentParser) -> None:
    """How many processes there are, and when they are replaced."""
    add = made.add_argument_group("processes").add_argument
    add("--workers", type=int, help="processes; one that dies is replaced")
    add(
        "--supervise",
        action=switch,
        help="a single worker has a supervisor, too, so that SIGHUP can renew it",
    )
    add(
        "--shared-socket",
        action=switch,
        help="workers accept from one socket, so that none waits for a blocked one",
    )
    add("--reload", action=switch, help="restart when Python files change")
    add(
        "--reload-dir",
        dest="reload_dirs",
        action="append",
        metavar="PATH",
        help="where to look for changes; may be repeated",
    )
    add(
        "--reload-poll",
        action=switch,
        help="look at every file instead of waiting for events, which network folders have not",
    )


def add_websockets(made: argparse.ArgumentParser) -> None:
    """What WebSockets may do."""
    add = made.add_argument_group("WebSockets").add_argument
    add("--ws", action=switch, help="without, requests to upgrade are ordinary requests (on)")
    add("--ws-max-size", type=int, help=f"bytes of a message ({DEFAULT.ws_max_size})")
    add(
        "--ws-ping-interval",
        type=float,
        help=f"seconds between pings; 0 for none ({DEFAULT.ws_ping_interval:g})",
    )
    add(
        "--ws-ping-timeout",
        type=float,
        help=f"seconds for a pong; 0: it need not come ({DEFAULT.ws_ping_timeout:g})",
    )
    add(
        "--ws-per-message-deflate",
        action=switch,
        help="compress messages where the client offers it (on)",
    )


def add_limits(made: argparse.ArgumentParser) -> None:
    """Sizes in bytes, times in seconds; 0 means no limit."""
    group = made.add_argument_group("limits", "0 for none")
    for field, text in LIMITS.items():
        value = getattr(DEFAULT, field)
        name = "--" + field.replace("_", "-")
        group.add_argument(name, type=type(value), help=f"{text} ({value:g})")


def add_logs(made: argparse.ArgumentParser) -> None:
    """What is said where."""
    add = made.add_argument_group("logs").add_argument
    add("--access-log", action=switch, help="a line per request on standard output (on)")
    add(
        "--access-log-format",
        metavar="FORMAT",
        help="json, common, combined, or a line such as '{client} {method} {target} {status}'",
    )
    add("--log-level", choices=LEVELS, help=f"of standard error ({DEFAULT.log_level})")
    add(
        "--log-config",
        metavar="PATH",
        help="configuration of Python's logging: .json or .toml as a dictionary, else .ini",
    )
    add("--metrics-path", metavar="PATH", help="serve Prometheus text at this path")


def add_responses(made: argparse.ArgumentParser) -> None:
    """Fields of every response."""
    add = made.add_argument_group("responses").add_argument
    add(
        "--header",
        dest="headers",
        action="append",
        metavar="'NAME: VALUE'",
        help="add this field to responses that have none of its name; may be repeated",
    )
    for name in ("date", "server"):
        add(f"--{name}-header", action=switch, help=f"the field {name}, in the same way (on)")

"""The command line: `python -m rookery_asgi module:app`."""

import argparse
import dataclasses
import logging
import os
import socket
import sys
from collections.abc import Sequence

from rookery_asgi import __version__
from rookery_asgi.errors import BadOption, ServerError
from rookery_asgi.importing import load
from rookery_asgi.options import Options
from rookery_asgi.run import need, run

LEVELS = ("critical", "error", "warning", "info", "debug")


LIMITS = {
    "limit_request_line": "bytes of a request line; beyond them 414",
    "limit_head": "bytes of a request's head; beyond them 431",
    "limit_body": "bytes of a request's body; beyond them 413",
    "limit_connections": "open connections; further clients wait in the backlog",
    "timeout_head": "seconds for a request's head, from the connection or its first byte",
    "timeout_keep_alive": "seconds that a connection may be idle between requests",
    "timeout_body": "seconds within which a body must bring a kilobyte",
    "timeout_write": "seconds within which a client must take a kilobyte",
    "timeout_graceful_shutdown": "seconds that a stop waits for running requests and WebSockets",
    "timeout_disconnect": "seconds that they then have after http.disconnect",
    "timeout_lifespan": "seconds for the application's shutdown",
}


def parser() -> argparse.ArgumentParser:
    """Options are named as uvicorn names them."""
    default = Options()
    made = argparse.ArgumentParser(prog="rookery-asgi", description="An ASGI server with a C core.")
    made.add_argument("app", help="the application, as module:attribute")
    made.add_argument("--version", action="version", version=f"rookery-asgi {__version__}")
    add_address(made, default)
    add_tls(made)
    add_application(made, default)
    add_processes(made, default)
    add_websockets(made, default)
    add_limits(made, default)
    add_logs(made, default)
    return made


def add_address(made: argparse.ArgumentParser, default: Options) -> None:
    """Where to listen, and whom to believe."""
    group = made.add_argument_group("address")
    group.add_argument("--host", default=default.host, help="listen on all addresses of this host")
    group.add_argument("--port", type=int, default=default.port, help="0 takes a free one")
    group.add_argument("--uds", metavar="PATH", help="listen on a unix socket")
    group.add_argument("--fd", type=int, help="listen on an inherited descriptor")
    group.add_argument("--worker-fd", type=int, action="append", help=argparse.SUPPRESS)
    group.add_argument(
        "--backlog", type=int, default=default.backlog, help="clients that the kernel lets wait"
    )
    group.add_argument(
        "--proxy-headers",
        action=argparse.BooleanOptionalAction,
        default=default.proxy_headers,
        help="take address and scheme of clients from X-Forwarded-For and -Proto",
    )
    group.add_argument(
        "--forwarded-allow-ips",
        default=os.environ.get("FORWARDED_ALLOW_IPS", default.forwarded_allow_ips),
        help="whose X-Forwarded headers count: addresses, networks or *",
    )


def add_tls(made: argparse.ArgumentParser) -> None:
    """The certificate."""
    group = made.add_argument_group("TLS", "SIGHUP reloads the certificate")
    group.add_argument("--ssl-certfile", metavar="PATH", help="certificate chain, as PEM")
    group.add_argument("--ssl-keyfile", metavar="PATH", help="its key, if in a file of its own")
    group.add_argument("--ssl-keyfile-password", metavar="TEXT", help="what the key is locked with")


def add_application(made: argparse.ArgumentParser, default: Options) -> None:
    """How the application is loaded and run."""
    group = made.add_argument_group("application")
    group.add_argument(
        "--app-dir", default=default.app_dir, metavar="PATH", help="folder to import it from"
    )
    group.add_argument("--factory", action="store_true", help="the attribute makes the application")
    group.add_argument(
        "--root-path", default=default.root_path, help="prefix under which a proxy has mounted it"
    )
    group.add_argument(
        "--lifespan",
        choices=("auto", "on", "off"),
        default=default.lifespan,
        help="on: it must take part in start and stop; off: it is not asked",
    )
    group.add_argument(
        "--core",
        choices=("c", "mongoose"),
        default=default.core,
        help="mongoose: cymongoose in the core's place (docs/adapter.md)",
    )
    group.add_argument(
        "--loop",
        choices=("auto", "uvloop", "asyncio"),
        default=default.loop,
        help="auto: uvloop where it is installed",
    )


def add_processes(made: argparse.ArgumentParser, default: Options) -> None:
    """How many processes there are, and when they are replaced."""
    group = made.add_argument_group("processes")
    group.add_argument(
        "--workers", type=int, default=default.workers, help="processes; one that dies is replaced"
    )
    group.add_argument(
        "--shared-socket",
        action="store_true",
        help="workers accept from one socket, so that none waits for a blocked one",
    )
    group.add_argument("--reload", action="store_true", help="restart when Python files change")
    group.add_argument(
        "--reload-dir",
        dest="reload_dirs",
        action="append",
        default=[],
        metavar="PATH",
        help="where to look for changes; may be repeated",
    )


def add_websockets(made: argparse.ArgumentParser, default: Options) -> None:
    """What WebSockets may do."""
    group = made.add_argument_group("WebSockets")
    group.add_argument(
        "--ws",
        action=argparse.BooleanOptionalAction,
        default=default.ws,
        help="without, requests to upgrade are ordinary requests",
    )
    group.add_argument(
        "--ws-max-size", type=int, default=default.ws_max_size, help="bytes of a message"
    )
    group.add_argument(
        "--ws-ping-interval",
        type=float,
        default=default.ws_ping_interval,
        help="seconds between pings; 0 for none",
    )
    group.add_argument(
        "--ws-ping-timeout",
        type=float,
        default=default.ws_ping_timeout,
        help="seconds within which a pong must come; 0: it need not",
    )
    group.add_argument(
        "--ws-per-message-deflate",
        action=argparse.BooleanOptionalAction,
        default=default.ws_per_message_deflate,
        help="compress messages where the client offers it",
    )


def add_limits(made: argparse.ArgumentParser, default: Options) -> None:
    """Sizes in bytes, times in seconds; 0 means no limit."""
    group = made.add_argument_group("limits", "0 for none")
    for field, text in LIMITS.items():
        value = getattr(default, field)
        name = "--" + field.replace("_", "-")
        group.add_argument(name, type=type(value), default=value, help=f"{text} (%(default)g)")


def add_logs(made: argparse.ArgumentParser, default: Options) -> None:
    """What is said where."""
    group = made.add_argument_group("logs")
    group.add_argument(
        "--access-log",
        action=argparse.BooleanOptionalAction,
        default=default.access_log,
        help="a JSON line per request on standard output",
    )
    group.add_argument(
        "--log-level", choices=LEVELS, default=default.log_level, help="of standard error"
    )
    group.add_argument("--metrics-path", metavar="PATH", help="serve Prometheus text at this path")
    for name in ("date", "server"):
        group.add_argument(
            f"--{name}-header",
            action=argparse.BooleanOptionalAction,
            default=True,
            help=f"add the field {name} to responses that have none",
        )


def read_options(arguments: argparse.Namespace) -> Options:
    """The options as one value."""
    names = [field.name for field in dataclasses.fields(Options)]
    given = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    given["reload_dirs"] = tuple(given["reload_dirs"])
    options = Options(**given)
    if sum(x is not None for x in (options.uds, options.fd)) > 1:
        raise BadOption("--uds and --fd exclude each other")
    if options.workers < 1:
        raise BadOption("--workers must be at least 1")
    if options.reload and options.workers > 1:
        raise BadOption("--reload and --workers exclude each other")
    return options


def configure_logs(level: str) -> None:
    """The server's own log goes to stderr, unless the application has arranged otherwise."""
    logging.basicConfig(
        stream=sys.stderr, level=level.upper(), format="%(asctime)s %(levelname)s %(message)s"
    )


def start(arguments: argparse.Namespace, argv: Sequence[str]) -> int:
    """Run what the arguments ask for; the exit status."""
    options = read_options(arguments)
    need(options)
    if arguments.worker_fd is None and (options.workers > 1 or options.reload):
        return supervise(options, argv)
    app = load(arguments.app, app_dir=options.app_dir, factory=options.factory)
    given = None
    if arguments.worker_fd is not None:
        given = [socket.socket(fileno=fd) for fd in arguments.worker_fd]
    return 0 if run(app, options, given) else 1


def supervise(options: Options, argv: Sequence[str]) -> int:
    """Run workers, and only them, in processes of their own."""
    from rookery_asgi.reload import Changes
    from rookery_asgi.supervisor import Supervisor, worker_command

    changes = Changes(options.reload_dirs or (options.app_dir or ".",))
    changed = changes if options.reload else bool
    return Supervisor(options, worker_command(argv), changed).run()


def main(argv: Sequence[str] | None = None) -> int:
    """Run; a failure is one sentence on stderr and an exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = parser().parse_args(given)
    configure_logs(arguments.log_level)
    try:
        return start(arguments, given)
    except ServerError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130

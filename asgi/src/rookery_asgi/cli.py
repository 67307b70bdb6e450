"""The command line: `python -m rookery_asgi module:app`."""

import dataclasses
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rookery_asgi import logs
from rookery_asgi.arguments import parser
from rookery_asgi.environment import read_variables
from rookery_asgi.errors import BadOption, ServerError
from rookery_asgi.importing import load
from rookery_asgi.options import Options
from rookery_asgi.run import need, run

OPTIONS = frozenset(field.name for field in dataclasses.fields(Options))


def read_options(given: Mapping[str, Any]) -> Options:
    """The options as one value."""
    known = {name: value for name, value in given.items() if name in OPTIONS}
    options = Options(**{name: tuple(v) if isinstance(v, list) else v for name, v in known.items()})
    if sum(x is not None for x in (options.uds, options.fd)) > 1:
        raise BadOption("--uds and --fd exclude each other")
    if options.workers < 1:
        raise BadOption("--workers must be at least 1")
    if options.reload and options.workers > 1:
        raise BadOption("--reload and --workers exclude each other")
    return options


def start(given: Mapping[str, Any], argv: Sequence[str]) -> int:
    """Run what is asked for; the exit status."""
    options = read_options(given)
    logs.configure(options)
    need(options)
    if "app" not in given:
        raise BadOption("no application was named", "say module:attribute or set ROOKERY_ASGI_APP")
    worker_fds = given.get("worker_fd")
    if worker_fds is None and (options.workers > 1 or options.reload):
        return supervise(options, argv)
    app = load(given["app"], app_dir=options.app_dir, factory=options.factory)
    socks = None
    if worker_fds is not None:
        socks = [socket.socket(fileno=int(fd)) for fd in worker_fds]
    return 0 if run(app, options, socks) else 1


def supervise(options: Options, argv: Sequence[str]) -> int:
    """Run workers, and only them, in processes of their own."""
    from rookery_asgi.reload import Changes
    from rookery_asgi.supervisor import Supervisor, worker_command

    changes = Changes(options.reload_dirs or (options.app_dir or ".",))
    changed = changes if options.reload else bool
    return Supervisor(options, worker_command(argv), changed).run()


def main(argv: Sequence[str] | None = None) -> int:
    """Run; a failure is one sentence on stderr and an exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    given = vars(parser().parse_args(words))
    try:
        return start({**read_variables(os.environ), **given}, words)
    except ServerError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130

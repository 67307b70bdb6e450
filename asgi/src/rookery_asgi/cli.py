"""The command line: `python -m rookery_asgi module:app`."""

import dataclasses
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rookery_asgi import logs
from rookery_asgi.arguments import parser
from rookery_asgi.binds import check_binds, passed_descriptors
from rookery_asgi.board import Board, Share
from rookery_asgi.environment import read_variables
from rookery_asgi.errors import BadOption, ServerError
from rookery_asgi.importing import load
from rookery_asgi.notify import take_notifier
from rookery_asgi.options import Options
from rookery_asgi.recycling import is_recycling
from rookery_asgi.run import need, run
from rookery_asgi.sockets import Listener

OPTIONS = frozenset(field.name for field in dataclasses.fields(Options))


def read_options(given: Mapping[str, Any]) -> Options:
    """The options as one value."""
    known: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if name in OPTIONS
    }
    options = Options(**known)
    check_binds(options)
    if options.workers < 1:
        raise BadOption("--workers must be at least 1")
    if options.reload and options.workers > 1:
        raise BadOption("--reload and --workers exclude each other")
    return options


def start(given: Mapping[str, Any], argv: Sequence[str]) -> int:
    """Run what is asked for; the exit status."""
    options = with_descriptors(read_options(given))
    logs.configure(options)
    need(options)
    if "app" not in given:
        raise BadOption("no application was named", "say module:attribute or set ROOKERY_ASGI_APP")
    if "worker_slot" in given:
        return work(given, options)
    if options.workers > 1 or options.supervise or options.reload or is_recycling(options):
        return supervise(options, argv)
    app = load(given["app"], app_dir=options.app_dir, factory=options.factory)
    return 0 if run(app, options) else 1


def with_descriptors(options: Options) -> Options:
    """Descriptors of LISTEN_FDS take the place of --host and --port; children get none of them."""
    passed = passed_descriptors(os.environ, os.getpid())
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    if not passed or options.binds or options.uds is not None or options.fd is not None:
        return options
    return dataclasses.replace(options, binds=passed)


def work(given: Mapping[str, Any], options: Options) -> int:
    """Serve as one of several, on the supervisor's sockets."""
    app = load(given["app"], app_dir=options.app_dir, factory=options.factory)
    listeners = [listener_of(text) for text in given["worker_fd"]]
    fd, slot = given["worker_slot"].split(":")
    return 0 if run(app, options, listeners, Share(Board(int(fd)), int(slot))) else 1


def listener_of(text: str) -> Listener:
    """A socket as the supervisor names it."""
    fd, kind = text.split(":")
    return Listener(socket.socket(fileno=int(fd)), secure=kind == "tls")


def supervise(options: Options, argv: Sequence[str]) -> int:
    """Run workers, and only them, in processes of their own."""
    from rookery_asgi.reload import watch
    from rookery_asgi.supervisor import Supervisor
    from rookery_asgi.worker import worker_command

    notifier = take_notifier(os.environ)
    folders = options.reload_dirs or (options.app_dir or ".",)
    changed = watch(folders, poll=options.reload_poll) if options.reload else bool
    return Supervisor(options, worker_command(argv), changed, notifier).run()


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

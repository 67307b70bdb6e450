"""`rookery machine`: lists the machines of a server, shows one, blocks it or lets it back in."""

import argparse

from rookery.cli.arguments import Subcommands, table
from rookery.cli.calling import add_server_command, print_json, tell
from rookery.client.client import Client
from rookery.protocol import v1

EXAMPLES = """\
examples:

  rookery machine list
  rookery machine show olga-8cores-1a2b3c4d
  rookery machine block olga-8cores-1a2b3c4d --message 'too hot'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    add_server_command(commands, "list", "list machines at play and blocked ones", _list)
    showing = add_server_command(commands, "show", "show a machine and its last words", _show)
    blocking = add_server_command(commands, "block", "give a machine no more tasks", _block)
    blocking.add_argument(
        "--message", required=True, metavar="TEXT", help="why; the machine's owner is told"
    )
    freeing = add_server_command(commands, "unblock", "let a blocked machine back in", _unblock)
    for each in (showing, blocking, freeing):
        each.add_argument("name", metavar="MACHINE", help="as `rookery machine list` shows it")


def _list(client: Client, parsed: argparse.Namespace) -> None:
    found = client.workers()
    if parsed.json:
        print_json(found)
        return
    heads = ("machine", "standing", "cores", "processor", "system", "compiler", "run")
    print(table(heads, [_row(worker) for worker in found.workers]))


def _show(client: Client, parsed: argparse.Namespace) -> None:
    machine = client.machine(parsed.name)
    if parsed.json:
        print_json(machine)
        return
    print(f"{machine.name}: {_standing(machine)}")
    facts = (machine.cpu, machine.arch, machine.system, machine.compiler)
    print(f"{machine.cores} cores, {', '.join(filter(None, facts)) or 'nothing known of it'}")
    for word in machine.words:
        print(f"{word.time:%Y-%m-%d %H:%M} {word.action}: {word.message or ''}")


def _block(client: Client, parsed: argparse.Namespace) -> None:
    machine = client.block_machine(parsed.name, parsed.message)
    tell(machine, parsed, f"{machine.name} is blocked.")


def _unblock(client: Client, parsed: argparse.Namespace) -> None:
    machine = client.unblock_machine(parsed.name)
    tell(machine, parsed, f"{machine.name} is let back in.")


def _row(worker: v1.WorkerEntry) -> tuple[str, ...]:
    run = worker.run if isinstance(worker.run, str) else ""
    processor = worker.cpu or worker.arch
    return (
        worker.name,
        _standing(worker),
        str(worker.cores or ""),
        processor,
        worker.system,
        worker.compiler,
        run,
    )


def _standing(worker: v1.WorkerEntry) -> str:
    if worker.blocked:
        return f"blocked: {worker.message}" if worker.message else "blocked"
    return "at play" if isinstance(worker.run, str) else "waiting"

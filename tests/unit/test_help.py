"""Every command explains itself, and the docs name only what there is."""

import re
from collections.abc import Iterator
from functools import cache

from cyclopts import App

from rookery.cli import main as frame
from tests.places import PROJECT

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
COMMAND_LINE = re.compile(r"(?:^|[\s`(./])rookery((?: +[^\s`|<>&;()#]+)+)")
FLAG = re.compile(r"--[a-zA-Z][\w-]*")
PLAIN = re.compile(r"[a-z]+")


COMMANDS = [command for _, command in frame.list_commands()]


def commands_below(app: App) -> dict[str, App]:
    """Return the commands of a command, by name."""
    return {name: app[name] for name in app if not name.startswith("-")}


def flags_below(app: App) -> dict[str, str | None]:
    """Return the flags of a command and those below it, with what each is for."""
    arguments = app.assemble_argument_collection() if app.default_command else ()
    mine = {name: each.parameter.help for each in arguments for name in each.names if name != "*"}
    for below in commands_below(app).values():
        mine |= flags_below(below)
    return mine | {"--help": "", "-h": ""}


@cache
def flags_and_commands(name: str) -> tuple[dict[str, str | None], set[str]]:
    app = frame.command_line(name)[name]
    return flags_below(app), set(commands_below(app))


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for words in COMMAND_LINE.findall(page.read_text(encoding="utf-8")):
            yield page.name, words.split()


def test_every_option_says_what_it_is_for() -> None:
    silent = [
        f"rookery {command.name} {name}"
        for command in COMMANDS
        for name, purpose in flags_and_commands(command.name)[0].items()
        if purpose is None
    ]
    assert silent == []


def test_what_a_value_or_a_default_is_stands_in_the_words_that_are_typed() -> None:
    serve = frame.command_line("serve")["serve"].assemble_argument_collection()
    threads = next(each for each in serve if each.name == "--threadpool-tokens")
    assert threads.parameter.metavar == "TOKENS"
    sprt = frame.command_line("stats")["stats"]["sprt"].assemble_argument_collection()
    model = next(each for each in sprt if each.name == "--model")
    assert "(default: normalized)" in str(model.parameter.help)


def test_the_docs_name_only_commands_and_flags_that_there_are() -> None:
    wrong = [
        f"{page}: rookery {' '.join(words)}"
        for page, words in command_lines()
        if not is_understood(*words)
    ]
    assert wrong == []


def is_understood(command: str, *words: str) -> bool:
    if command not in {each.name for each in COMMANDS}:
        return command.startswith("-") or not command.isalpha()
    flags, commands = flags_and_commands(command)
    first = words[0] if words else ""
    known = not (commands and PLAIN.fullmatch(first)) or first in commands
    return known and set(FLAG.findall(" ".join(words))) <= flags.keys()

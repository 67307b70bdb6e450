"""Every command explains itself, and the docs name only what there is."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from rookery.cli.main import COMMANDS, parser_for

PROJECT = Path(__file__).resolve().parents[3]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
COMMAND_LINE = re.compile(r"(?:^|[\s`(./])rookery((?: +[^\s`|<>&;()#]+)+)")
FLAG = re.compile(r"--[a-zA-Z][\w-]*")
PLAIN = re.compile(r"[a-z]+")


def below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a command, by name."""
    found = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def parser_of(command: str) -> argparse.ArgumentParser:
    return below(parser_for([command]))[command]


def every_parser() -> Iterator[argparse.ArgumentParser]:
    for command in COMMANDS:
        parser = parser_of(command.name)
        yield from (parser, *below(parser).values())


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    mine = {flag for action in parser._actions for flag in action.option_strings}
    return mine.union(*(flags_of(each) for each in below(parser).values()))


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for words in COMMAND_LINE.findall(page.read_text(encoding="utf-8")):
            yield page.name, words.split()


def test_every_option_says_what_it_is_for() -> None:
    silent = [
        f"{parser.prog} {action.option_strings[0]}"
        for parser in every_parser()
        for action in parser._actions
        if action.option_strings and not action.help
    ]
    assert silent == []


def test_examples_keep_their_lines_where_other_text_is_filled() -> None:
    shown = parser_of("token").format_help()
    assert "\n  rookery token create --user olga\n  rookery token create" in shown
    assert "Create, list or revoke access tokens." in shown


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
    parser = parser_of(command)
    commands = below(parser)
    first = words[0] if words else ""
    known = not (commands and PLAIN.fullmatch(first)) or first in commands
    return known and set(FLAG.findall(" ".join(words))) <= flags_of(parser)

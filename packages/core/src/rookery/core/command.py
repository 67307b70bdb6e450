"""Helpers of commands: declare flags, read files, ask questions and print tables.

Importing rich takes a fifth of the time of a short command, so it is imported where it is used.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, get_type_hints

import msgspec
from cyclopts import App, Group, Parameter, Token

from rookery.core.errors import Complaint
from rookery.core.stats.spsa_parameters import DEFAULT_A_RATIO, DEFAULT_ALPHA, DEFAULT_GAMMA

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDE = 10_000
"""The width of output that people do not read directly, so that nothing is cut or wrapped."""


class BadArgument(Complaint):
    """Something given on the command line cannot be used."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Command:
    """A command's name, the import path of its function or App, and its line in the overview."""

    name: str
    target: str
    purpose: str


CommandTable = Mapping[str, Sequence[Command]]
"""The commands of a package, by the title of their group in the overview."""
RUN_A_FARM = "Run a farm"
PLAY_HERE = "Play here"
TALK_TO_A_SERVER = "Talk to a server"
ADMINISTER = "Administer"
TITLES = (RUN_A_FARM, PLAY_HERE, TALK_TO_A_SERVER, ADMINISTER)


OF_POSIX = frozenset({"fcntl", "grp", "pwd", "resource"})
"""Modules of Python's own library that Windows does not have."""


def not_installed(command: str, package: str) -> Complaint:
    """Return a command needs a package that this installation does not have."""
    return Complaint(
        f"`rookery {command}` needs {package}, which is not installed here;"
        f" install it with: pip install {package}"
    )


def missing_module(command: str, missing: ModuleNotFoundError) -> Complaint:
    """Complain that a command's module can't be imported: a part of Python or of its package is
    missing."""
    if missing.name in OF_POSIX:
        return Complaint(f"`rookery {command}` needs Linux; on macOS it is untried.")
    return Complaint(
        f"`rookery {command}` needs {missing.name}, which is not installed here:"
        " the installation is broken; install it anew."
    )


def option(purpose: str, metavar: str | None = None, **more: Any) -> Parameter:
    """Declare a flag or an argument by its purpose and a word for its value."""
    return Parameter(help=purpose, **more | ({"metavar": metavar} if metavar else {}))


PLAIN_FLAGS = Parameter(negative=(), negative_iterable=(), allow_repeating=True)
"""Flags have no negative form. Of a repeated flag the last one counts, so that scripts can append
to an existing command line."""
ARGUMENTS = Group("Arguments", sort_key=0)
OPTIONS = Group("Options", sort_key=1)


def command_group(name: str, purpose: str, examples: str = "") -> App:
    """Return a command that contains other commands. Each is added where its function is
    defined."""
    return App(
        name=name,
        help=f"{purpose}\n\nexamples:\n\n{examples}" if examples else purpose,
        group_arguments=ARGUMENTS,
        group_parameters=OPTIONS,
    )


AsJson = Annotated[bool, option("answer in JSON, for scripts")]
PasswordStdin = Annotated[
    bool, option("read the password from the first line of standard input instead of asking for it")
]


# The bounds of a test: `--sprt 0 5`, `--sprt 0,5` and `--sprt "[0, 5]"` are equivalent.

BOUND_FLAGS = frozenset({"--sprt", "--would-have"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def join_bounds(words: Sequence[str]) -> list[str]:
    """Join the two numbers after a flag for bounds into one word, so that any flag may follow."""
    joined: list[str] = []
    ahead = list(words)
    while ahead:
        word = ahead.pop(0)
        if word in BOUND_FLAGS and len(ahead) > 1 and all(map(_NUMBER.fullmatch, ahead[:2])):
            word = f"{word}={ahead.pop(0)},{ahead.pop(0)}"
        elif word in BOUND_FLAGS and ahead and ahead[0].startswith("-") and "," in ahead[0]:
            word = f"{word}={ahead.pop(0)}"
        joined.append(word)
    return joined


def read_bounds(_type: object, tokens: Sequence[Token]) -> tuple[float, float]:
    """Parse the two bounds of a test. Raises ValueError."""
    text = tokens[-1].value
    numbers = text.strip().removeprefix("[").removesuffix("]").split(",")
    with suppress(ValueError):
        elo0, elo1 = map(float, numbers)
        if math.isfinite(elo0) and math.isfinite(elo1):
            return elo0, elo1
    raise ValueError(f"expected two numbers such as 0 5 or 0,5, not {text!r}.")


def read_many_bounds(_type: object, tokens: Sequence[Token]) -> list[tuple[float, float]]:
    return [read_bounds(_type, [token]) for token in tokens]


Bounds = Annotated[
    tuple[float, float] | None,
    Parameter(converter=read_bounds, n_tokens=1, accepts_keys=False, metavar="ELO0,ELO1"),
]


def as_words(*groups: Any) -> list[str]:
    """Write dataclasses of flags as words that parse to the same values."""
    words: list[str] = []
    for flags in groups:
        for name, hint in get_type_hints(type(flags), include_extras=True).items():
            value = getattr(flags, name)
            if value not in (None, False, (), []):
                words.extend(_words(_flag_name(name, hint), value))
    return words


def _flag_name(name: str, hint: Any) -> str:
    named = [word for each in hint.__metadata__ for word in each.name or ()]
    return str(named[-1]) if named else f"--{name.replace('_', '-')}"


def _words(name: str, value: object) -> Iterator[str]:
    if value is True:
        yield name
    elif name in BOUND_FLAGS and isinstance(value, tuple):
        yield f"{name}={value[0]},{value[1]}"
    elif isinstance(value, tuple) and not isinstance(value[0], str):
        yield from (name, *map(str, value))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from (name, *one) if isinstance(one, list) else (f"{name}={one}",)
    else:
        yield f"{name}={value}"


def parse_again(command: Callable[..., object], words: Sequence[str]) -> dict[str, Any]:
    """Parse words into a command's arguments. Raises CycloptsError."""
    app = App(default_parameter=PLAIN_FLAGS, help_flags=(), version_flags=())
    app.default(command)
    line = join_bounds(words)
    _, bound, _ = app.parse_args(line, exit_on_error=False, print_error=False)
    return dict(bound.arguments)


def refuse_flags(_type: object, given: str | Sequence[str] | None) -> None:
    """Refuse words that look like flags, except for -, which stands for standard input."""
    for word in [given] if isinstance(given, str) else given or ():
        if word.startswith("-") and word != "-":
            raise BadArgument(f"There is no flag {word}.")


OR_STDIN = Parameter(allow_leading_hyphen=True, validator=refuse_flags)


def single(read: Callable[[str], object]) -> Callable[[object, Sequence[Token]], object]:
    """Return a converter for values of one word. `read` raises ValueError."""
    return lambda _type, tokens: read(tokens[-1].value)


# The schedule of an SPSA tune: how fast its steps and distances shrink.


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Schedule:
    """How fast the steps and distances of an SPSA tune shrink."""

    a_ratio: Annotated[
        float, option("the schedule's A, as a share of all pairs", "X", name="--A")
    ] = DEFAULT_A_RATIO
    alpha: Annotated[float, option("how fast steps shrink", "X")] = DEFAULT_ALPHA
    gamma: Annotated[float, option("how fast the perturbations shrink", "X")] = DEFAULT_GAMMA


# Reads files, asks people, and prints.


def read_text_file(file: Path) -> str:
    """Read a file in UTF-8. Raises BadArgument."""
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise BadArgument(f"{file} can't be read: it is not text in UTF-8.") from None
    except OSError as error:
        raise BadArgument(f"{file} can't be read: {error.strerror}.") from None


def ask(question: str, flags: str) -> str:
    """Ask a person. `flags` are named in the error if there is no terminal. Raises BadArgument."""
    if not sys.stdin.isatty():
        raise BadArgument(f"There is no terminal to ask for {question.lower()}; give {flags}.")
    return _prompt(question).strip()


def ask_password(question: str = "Password", *, from_stdin: bool) -> str:
    """Ask for a password, or read it from standard input. Raises BadArgument."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise BadArgument("There is no terminal to ask for a password; give --password-stdin.")
    with suppress(EOFError):
        return _prompt(question, password=True)
    raise BadArgument("No password was given.")


def _prompt(question: str, *, password: bool = False) -> str:
    from rich.console import Console
    from rich.prompt import Prompt

    return Prompt.ask(question, password=password, console=Console(stderr=True))


Column = tuple[str, str | Callable[[Any], str]]
"""A heading, and a template such as "{.name}" or a function that turns a row's item into a cell."""


def print_table(
    columns: Sequence[Column], items: Iterable[object], file: TextIO | None = None
) -> None:
    """Print one row per item. If the output is not a terminal, every row is on one line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heads = [heading for heading, _ in columns]
    cells = [each.format if isinstance(each, str) else each for _, each in columns]
    table = Table(*heads, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for item in items:
        table.add_row(*(Text(cell(item)) for cell in cells))
    console = Console(file=file, highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    print_trimmed(console, table)


def if_known(attribute: str, form: str = "{}", otherwise: str = "") -> Callable[[object], str]:
    """Return a cell for an attribute that may be missing."""

    def cell(item: object) -> str:
        value = getattr(item, attribute)
        return otherwise if value is None or value is msgspec.UNSET else form.format(value)

    return cell


def print_trimmed(console: "Console", lines: "RenderableType") -> None:
    """Print lines without the spaces that pad the last column."""
    with console.capture() as captured:
        console.print(lines)
    print(*map(str.rstrip, captured.get().splitlines()), sep="\n", file=console.file)


def print_rows(rows: Sequence[tuple[str, str]]) -> None:
    """Print pairs of a label and a text as two columns."""
    width = max((len(label) for label, _ in rows), default=0)
    print("\n".join(f"{label:{width}}  {text}" for label, text in rows))


def print_json(value: object) -> None:
    print(msgspec.json.encode(value).decode())


def warn(text: str) -> None:
    """Print a warning on standard error, apart from results."""
    print(f"warning: {text}", file=sys.stderr)


def make_printable(text: str, *, lines: bool = False) -> str:
    """Return a text from another source without characters that could control the terminal. `lines`
    keeps line breaks."""
    kept = "\n" if lines else ""
    return "".join(each if each.isprintable() or each in kept else "·" for each in text)

"""The programs for building engines that records may name and workers report, and the instruction
sets likewise: what nobody reports would keep a record from ever being played."""

import re
from collections.abc import Iterator

from rookery.core.model.engine import EngineRecord

COMPILERS = ("gcc", "g++", "clang", "clang++")
"""Compilers that are often installed in several versions, such as clang++-17."""
NUMBERED = tuple(f"{name}-{number}" for name in COMPILERS for number in range(4, 40))
BUILD_TOOLS = frozenset({
    *COMPILERS, *NUMBERED, "cc", "c++", "gfortran", "nasm", "yasm", "ld.lld", "llvm-profdata",
    "make", "gmake", "cmake", "ninja", "meson", "autoconf", "automake", "pkg-config", "git",
    "cargo", "rustc", "go", "zig", "dotnet", "mono", "java", "javac", "kotlinc", "scala", "mvn",
    "gradle", "ant", "node", "npm", "deno", "bun", "python3", "python", "pypy3", "ghc", "cabal",
    "ocaml", "dune", "opam", "nim", "crystal", "swift", "fpc", "gnatmake", "gprbuild", "dmd",
    "ldc2", "gdc", "dub", "julia", "ruby", "perl", "php", "lua", "luajit",
})  # fmt: skip
INSTRUCTION_SETS = re.compile(
    r"(sse|ssse|avx|bmi|popcnt|fma|f16c|pni|abm|lzcnt|adx|gfni|vaes|aes|v?pclmul|sha|mmx|movbe"
    r"|amx|asimd|neon|sve|i8mm|dot|crc32|pmull)"
)
"""The instruction sets that programs are built for, among the processor's hundred or so flags."""


def is_reported_flag(name: str) -> bool:
    """Whether workers report a flag of this name if their processor has it."""
    return INSTRUCTION_SETS.match(name) is not None


def list_unreported(record: EngineRecord) -> Iterator[tuple[str, str]]:
    """Yield the tools and flags that a record needs and no worker reports, each with its field's
    name."""
    yield from (("tools", tool.name) for tool in record.tools if tool.name not in BUILD_TOOLS)
    yield from (("cpu_flags", flag) for flag in record.cpu_flags if not is_reported_flag(flag))

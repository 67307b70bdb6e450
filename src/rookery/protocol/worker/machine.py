"""What a worker says about its machine: the official keys, and ours where it is one of ours."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rookery.protocol.fields import (
    Cores,
    Count,
    Phrase,
    Speed,
    Triple,
    UniqueKey,
    Word,
    Words,
)

Men = Annotated[int, Meta(ge=0, le=8)]
Tools = Annotated[dict[Word, Word], Meta(max_length=200)]


class Abilities(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a Rookery worker can do beyond an official one; sent to a Rookery server only."""

    version: Word = ""
    os: Word = ""
    cpu: Phrase = ""
    flags: Words = ()
    physical_cores: Count = 0
    numa: Count = 0
    tools: Tools = field(default_factory=dict)
    runner: Word = ""
    syzygy_men: Men = 0
    noisy: bool = False
    focus: Words = ()
    only: Words = ()
    host: Word = ""
    sandbox: bool = False
    """Engines are kept in namespaces."""
    bundled_only: bool = False
    """There is no sandbox, and its owner lets no stranger's code run without one."""


class WorkerInfo(Struct, frozen=True, gc=False, kw_only=True):
    """The object that every call but request_version carries."""

    uname: Phrase
    architecture: tuple[Word, Word]
    concurrency: Cores
    max_memory: Count
    min_threads: Cores
    username: Word
    version: Count
    python_version: Triple
    gcc_version: Triple
    compiler: Word
    unique_key: UniqueKey
    modified: bool
    worker_arch: Word
    arch: Phrase = field(name="ARCH")
    nps: Speed
    near_github_api_limit: bool
    rookery: Abilities | UnsetType = UNSET

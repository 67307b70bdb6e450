"""Gets commits and their files from other servers: by GitHub's API within its quota, else by
git."""

import contextlib
import re
import urllib.parse
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol

import msgspec

from rookery.core.clock import Clock
from rookery.core.http_client import FIRST_REFUSAL, REDIRECTS, HttpAnswer, HttpClient
from rookery.core.http_failures import CallFailed
from rookery.core.protocol.user_documents import QuotaDocument
from rookery.server.farm.rules.review import SourceFacts
from rookery.server.sources.commits import (
    Archive,
    Archiver,
    Commit,
    Finder,
    SourceError,
    mirror_name,
    unknown_revision,
)
from rookery.server.sources.diffs import Differ, GitDiff
from rookery.server.sources.git import Git
from rookery.server.sources.mirrors import Mirrors
from rookery.server.sources.survey import GitSurvey, MainCommit, NetPattern, SourcePlace, Surveyor

API = "https://api.github.com"
SITE = "https://github.com/"
SECONDS = 15.0
LARGEST = 5 * 2**20
MOST_KEPT = 1000
MOST_MOVES = 3
FETCH_SECONDS = 120.0
_WHOLE_HASH = re.compile(r"[0-9a-f]{40}", re.ASCII)
UNKNOWN = QuotaDocument(limit=60, remaining=60, reset=0, used=0, uninitialized=True)


class _Repository(msgspec.Struct):
    private: bool


class _CommitMessage(msgspec.Struct):
    message: str


class _Commit(msgspec.Struct):
    sha: str
    commit: _CommitMessage


_REPOSITORY = msgspec.json.Decoder(_Repository)
_COMMIT = msgspec.json.Decoder(_Commit)


class QuotaSpent(SourceError):
    """GitHub's quota of calls is used up for now."""


@dataclass(frozen=True, slots=True)
class _KeptReply:
    etag: str
    body: bytes


class GitHub:
    """Calls of GitHub's API; bodies are cached with their ETag, which costs no quota. One per
    process, called from threads."""

    def __init__(self, clock: Clock, *, api: str = API, token: str = "") -> None:
        self._clock = clock
        self._api = api.rstrip("/")
        self._token = token
        self._lock = Lock()
        self._quota = UNKNOWN
        self._cached: OrderedDict[str, _KeptReply] = OrderedDict()
        self._http = HttpClient(SECONDS, LARGEST)

    def quota(self) -> QuotaDocument:
        """Return the quota according to the latest answer; a full one after its period is over."""
        known = self._quota
        if known.uninitialized or self._clock.now().timestamp() < known.reset:
            return known
        return QuotaDocument(
            limit=known.limit, remaining=known.limit, reset=known.reset, used=0,
            uninitialized=False,
        )  # fmt: skip

    def ask_quota(self) -> None:
        """Ask for the quota, which costs none of it. If GitHub does not answer, nothing changes."""
        with contextlib.suppress(CallFailed):
            answer = self._http.call("GET", f"{self._api}/rate_limit", headers=self._headers(None))
            self._note_quota(answer.headers)

    def find_commit(self, repository: str, revision: str, *, known: bool) -> Commit:
        """Return the commit of a branch, a tag or a hash; raise QuotaSpent or SourceError."""
        place = f"{self._api}/repos/{repository.removeprefix(SITE)}"
        rest = urllib.parse.quote(revision, safe="/")
        try:
            if self._token and not known and _REPOSITORY.decode(self._get(place)).private:
                raise _NotFound
            found = _COMMIT.decode(self._get(f"{place}/commits/{rest}"))
            return Commit(found.sha, found.commit.message)
        except _NotFound:
            raise unknown_revision(revision, repository) from None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise SourceError("GitHub's answer can't be read") from None

    def _get(self, url: str) -> bytes:
        for _ in range(MOST_MOVES):
            if self.quota().remaining < 1:
                raise QuotaSpent("GitHub's quota of calls is used up for now")
            cached = self._cached.get(url)
            try:
                answer = self._http.call("GET", url, headers=self._headers(cached))
            except CallFailed as failed:
                raise SourceError(f"GitHub does not answer ({failed})") from None
            self._note_quota(answer.headers)
            if answer.status == 304 and cached is not None:
                return cached.body
            to = answer.headers.get("location", "")
            if answer.status not in REDIRECTS or not to.startswith(f"{self._api}/"):
                return self._check_answer(url, answer)
            # The repository was renamed.
            url = to
        raise SourceError("GitHub redirects in a circle")

    def _check_answer(self, url: str, answer: HttpAnswer) -> bytes:
        if answer.status < FIRST_REFUSAL:
            self._cache(url, answer.headers.get("etag", ""), answer.body)
            return answer.body
        if answer.status in (404, 422):
            raise _NotFound
        if answer.status in (403, 429) and answer.headers.get("x-ratelimit-remaining") == "0":
            raise QuotaSpent("GitHub's quota of calls is used up for now")
        raise SourceError(f"GitHub answers {answer.status}")

    def _headers(self, cached: _KeptReply | None) -> dict[str, str]:
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if cached is not None:
            headers["If-None-Match"] = cached.etag
        return headers

    def _note_quota(self, headers: Mapping[str, str]) -> None:
        names = ("limit", "remaining", "reset", "used")
        texts = [headers.get(f"x-ratelimit-{name}", "") for name in names]
        if all(text.isdecimal() for text in texts) and texts[0]:
            limit, remaining, reset, used = map(int, texts)
            self._quota = QuotaDocument(
                limit=limit, remaining=remaining, reset=reset, used=used, uninitialized=False
            )

    def _cache(self, url: str, etag: str, body: bytes) -> None:
        if not etag:
            return
        with self._lock:
            self._cached[url] = _KeptReply(etag, body)
            self._cached.move_to_end(url)
            while len(self._cached) > MOST_KEPT:
                self._cached.popitem(last=False)


class _NotFound(Exception):
    """GitHub has no such commit, or does not show it."""


class SourceAccess(Finder, Archiver, Surveyor, Differ, Protocol):
    """A source of commits and their files; blocks."""

    def quota(self) -> QuotaDocument:
        """Return the quota of calls to GitHub."""
        ...

    def ask_quota(self) -> None:
        """Ask GitHub for the quota, if it may be asked."""
        ...


@dataclass(frozen=True, slots=True)
class RemoteSources:
    """Commits and files of any repository. GitHub's are found by its API, or by git when the quota
    is used up."""

    mirrors: Mirrors
    github: GitHub
    clock: Clock

    def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        if repository.startswith(SITE) and "https" in self.mirrors.git.policy.schemes:
            try:
                return self.github.find_commit(repository, revision, known=known)
            except QuotaSpent:
                pass
        git = self.mirrors.git
        return self._find_by_git(git if known else git.without_credentials(), repository, revision)

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        git, top = replace(self.mirrors.git, seconds=FETCH_SECONDS), mirror_name(repository)
        return self.mirrors.archive(git, repository, commit, top, known, self.clock)

    def forget_archives(self, days: int) -> None:
        self.mirrors.forget(days, self.clock.now().timestamp())

    def quota(self) -> QuotaDocument:
        return self.github.quota()

    def ask_quota(self) -> None:
        if "https" in self.mirrors.git.policy.schemes:
            self.github.ask_quota()

    def compare(
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, nets: NetPattern
    ) -> SourceFacts:
        return GitSurvey(self.mirrors).compare(main, new, base, nets)

    def diff(self, new: SourcePlace, base: SourcePlace) -> str:
        return GitDiff(GitSurvey(self.mirrors), self.clock).diff(new, base)

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        return GitSurvey(self.mirrors).list_main(main)

    def find_tree(self, place: SourcePlace) -> str:
        return GitSurvey(self.mirrors).find_tree(place)

    def read_file(self, main: SourcePlace, path: str) -> str:
        return GitSurvey(self.mirrors).read_file(main, path)

    def forget_scratch(self, before: float) -> None:
        GitSurvey(self.mirrors).forget_scratch(before)

    def _find_by_git(self, git: Git, repository: str, revision: str) -> Commit:
        whole = _WHOLE_HASH.fullmatch(revision) is not None
        sha = revision if whole else git.find(repository, revision)
        try:
            return Commit(sha, self.mirrors.read_message(git, repository, sha))
        except SourceError:
            # Some servers do not allow fetching a single commit; for a complete hash, that is no
            # error.
            if whole:
                raise
            return Commit(sha, "")

"""GitHub's API: commits by any name, within the quota, and never twice for the same answer."""

import urllib.parse
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

import msgspec

from rookery.clock import Clock
from rookery.http_client import FIRST_REFUSAL, REDIRECTS, CallFailed, HttpAnswer, HttpClient
from rookery.protocol.user_documents import QuotaDocument
from rookery.sources.commits import CannotAsk, Commit, UnknownRevision

API = "https://api.github.com"
SITE = "https://github.com/"
SECONDS = 15.0
LARGEST = 5 * 2**20
MOST_KEPT = 1000
MOST_MOVES = 3
UNKNOWN = QuotaDocument(limit=60, remaining=60, reset=0, used=0, uninitialized=True)


class _Repository(msgspec.Struct):
    private: bool


class _Said(msgspec.Struct):
    message: str


class _Commit(msgspec.Struct):
    sha: str
    commit: _Said


_REPOSITORY = msgspec.json.Decoder(_Repository)
_COMMIT = msgspec.json.Decoder(_Commit)


class QuotaSpent(CannotAsk):
    """GitHub answers no more calls for now."""


@dataclass(frozen=True, slots=True)
class _KeptReply:
    etag: str
    body: bytes


class GitHub:
    """One per process, called from threads."""

    def __init__(self, clock: Clock, *, api: str = API, token: str = "") -> None:
        self._clock = clock
        self._api = api.rstrip("/")
        self._token = token
        self._lock = Lock()
        self._quota = UNKNOWN
        self._kept: OrderedDict[str, _KeptReply] = OrderedDict()
        self._http = HttpClient(SECONDS, LARGEST)

    def quota(self) -> QuotaDocument:
        """As GitHub told it last; whole again once its time is over."""
        known = self._quota
        if known.uninitialized or self._clock.now().timestamp() < known.reset:
            return known
        return QuotaDocument(
            limit=known.limit, remaining=known.limit, reset=known.reset, used=0,
            uninitialized=False,
        )  # fmt: skip

    def commit(self, repository: str, revision: str, *, known: bool) -> Commit:
        """By branch, tag, or digits of its hash; raises UnknownRevision, QuotaSpent, CannotAsk."""
        place = f"{self._api}/repos/{repository.removeprefix(SITE)}"
        rest = urllib.parse.quote(revision, safe="/")
        try:
            if self._token and not known and _REPOSITORY.decode(self._get(place)).private:
                raise _NotFound
            found = _COMMIT.decode(self._get(f"{place}/commits/{rest}"))
            return Commit(found.sha, found.commit.message)
        except _NotFound:
            raise UnknownRevision(revision, repository) from None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise CannotAsk("GitHub's answer can't be read") from None

    def _get(self, url: str) -> bytes:
        for _ in range(MOST_MOVES):
            if self.quota().remaining < 1:
                raise QuotaSpent("GitHub's quota of calls is used up for now")
            kept = self._kept.get(url)
            try:
                answer = self._http.call("GET", url, headers=self._headers(kept))
            except CallFailed as failed:
                raise CannotAsk(f"GitHub does not answer ({failed})") from None
            self._note(answer.headers)
            if answer.status == 304 and kept is not None:
                return kept.body
            to = answer.headers.get("location", "")
            if answer.status not in REDIRECTS or not to.startswith(f"{self._api}/"):
                return self._accepted(url, answer)
            # The repository has another name by now.
            url = to
        raise CannotAsk("GitHub sends us round in circles")

    def _accepted(self, url: str, answer: HttpAnswer) -> bytes:
        if answer.status < FIRST_REFUSAL:
            self._keep(url, answer.headers.get("etag", ""), answer.body)
            return answer.body
        if answer.status in (404, 422):
            raise _NotFound
        if answer.status in (403, 429) and answer.headers.get("x-ratelimit-remaining") == "0":
            raise QuotaSpent("GitHub's quota of calls is used up for now")
        raise CannotAsk(f"GitHub answers {answer.status}")

    def _headers(self, kept: _KeptReply | None) -> dict[str, str]:
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if kept is not None:
            headers["If-None-Match"] = kept.etag
        return headers

    def _note(self, headers: Mapping[str, str]) -> None:
        names = ("limit", "remaining", "reset", "used")
        texts = [headers.get(f"x-ratelimit-{name}", "") for name in names]
        if all(text.isdecimal() for text in texts) and texts[0]:
            limit, remaining, reset, used = map(int, texts)
            self._quota = QuotaDocument(
                limit=limit, remaining=remaining, reset=reset, used=used, uninitialized=False
            )

    def _keep(self, url: str, etag: str, body: bytes) -> None:
        if not etag:
            return
        with self._lock:
            self._kept[url] = _KeptReply(etag, body)
            self._kept.move_to_end(url)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)


class _NotFound(Exception):
    """GitHub knows no such commit."""

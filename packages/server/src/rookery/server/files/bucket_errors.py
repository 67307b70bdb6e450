"""Interprets errors of S3-compatible storage: it is away, it may be away, or an object is missing.
obstore reports nearly all of them as one error class whose text contains the whole request."""

import contextlib
from collections.abc import Iterator

from rookery.server.disk import StorageAway
from rookery.server.files.blobs import DoubtfulCall


@contextlib.contextmanager
def translated_errors(
    *, missing_is_away: bool = False, slow_is_doubtful: bool = False
) -> Iterator[None]:
    """Turn obstore's errors into StorageAway; a missing object remains FileNotFoundError."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        if missing_is_away or "NoSuchBucket" in str(error):
            raise StorageAway(explain(error)) from None
        raise
    except (BaseError, OSError, ValueError) as error:
        words = explain(error)
        if words == DENIED or (words == LATE and slow_is_doubtful):
            raise DoubtfulCall(words) from None
        raise StorageAway(words) from None


DENIED = "it denies access"
"""S3 also gives this answer for a missing object to clients that may not list the bucket."""
LATE = "it does not answer in time"


def explain(error: Exception) -> str:
    """Why a call failed, in a few words, without the request and inner errors that obstore
    includes."""
    text = str(error)
    for sign, words in (
        ("NoSuchBucket", "there is no such bucket"),
        ("SignatureDoesNotMatch", "it refuses our credentials"),
        ("InvalidAccessKeyId", "it refuses our credentials"),
        ("403 Forbidden", DENIED),
        ("AccessDenied", DENIED),
        ("401 Unauthorized", "it refuses our credentials"),
        ("169.254.169.254", "no credentials were given: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"),
        ("TimedOut", LATE),
        ("Timeout", LATE),
        ("ConnectionRefused", "it refuses connections"),
        ("Connect", "it can't be reached"),
    ):
        if sign in text:
            return words
    return " ".join(text.partition("Debug source")[0].split()) or type(error).__name__

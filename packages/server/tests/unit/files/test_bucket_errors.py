"""Errors of S3-compatible storage, in few words."""

import pytest

from rookery.server.disk import StorageAway
from rookery.server.files.blobs import DoubtfulCall
from rookery.server.files.bucket_errors import explain, translated_errors


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("<Code>NoSuchBucket</Code>", "there is no such bucket"),
        ("403 Forbidden <Code>AccessDenied", "it denies access"),
        ("403 Forbidden <Code>SignatureDoesNotMatch", "it refuses our credentials"),
        ("HTTP error\n\nDebug source: kind: Timeout", "it does not answer in time"),
        ("kind: Connect", "it can't be reached"),
        ("Something else\n\nDebug source: much", "Something else"),
    ],
)
def test_errors_are_explained_in_few_words(said: str, words: str) -> None:
    assert explain(RuntimeError(said)) == words


def test_access_that_is_denied_may_be_about_one_object() -> None:
    with pytest.raises(DoubtfulCall), translated_errors():
        raise OSError("403 Forbidden")


@pytest.mark.parametrize(("uploading", "kind"), [(True, DoubtfulCall), (False, StorageAway)])
def test_a_late_answer_may_be_an_uploads_own_fault(
    uploading: bool, kind: type[StorageAway]
) -> None:
    with pytest.raises(StorageAway) as raised, translated_errors(slow_is_doubtful=uploading):
        raise OSError("Timeout")
    assert type(raised.value) is kind

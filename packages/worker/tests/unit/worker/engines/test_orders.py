"""Nets and their names."""

import hashlib

import pytest

from rookery.worker.engines.orders import name_fits

DIGEST = hashlib.sha256(b"weights").hexdigest()


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        (f"nn-{DIGEST[:12]}.nnue", True),
        ("nn-0123456789ab.nnue", False),
        (DIGEST, True),
        (f"{DIGEST}.bin", True),
        ("0" * 64, False),
        ("my-net.bin", True),
    ],
)
def test_a_name_that_tells_a_hash_is_held_to_it(name: str, fitting: bool) -> None:
    assert name_fits(name, DIGEST) == fitting

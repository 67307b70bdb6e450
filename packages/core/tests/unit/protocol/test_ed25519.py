"""Signatures, by the standard's own examples."""

import pytest

from rookery.core.protocol.ed25519 import ORDER, fingerprint, is_signed, public_key, sign

# RFC 8032, 7.1: seed, public key, message, signature.
EXAMPLES = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]


@pytest.mark.parametrize(("seed", "key", "message", "signature"), EXAMPLES)
def test_the_standards_examples_hold(seed: str, key: str, message: str, signature: str) -> None:
    secret, said = bytes.fromhex(seed), bytes.fromhex(message)
    assert public_key(secret).hex() == key
    assert sign(secret, said).hex() == signature
    assert is_signed(bytes.fromhex(key), said, bytes.fromhex(signature))


def test_any_change_is_found() -> None:
    seed, message = bytes(range(32)), b"a wheel"
    key, signature = public_key(seed), sign(seed, message)
    assert is_signed(key, message, signature)
    assert not is_signed(key, message + b"!", signature)
    assert not is_signed(public_key(bytes(32)), message, signature)
    for place in range(0, 64, 7):
        changed = bytearray(signature)
        changed[place] ^= 1
        assert not is_signed(key, message, bytes(changed))


def test_a_second_form_of_a_signature_is_refused() -> None:
    seed = bytes(range(32))
    signature = sign(seed, b"x")
    larger = int.from_bytes(signature[32:], "little") + ORDER
    assert not is_signed(public_key(seed), b"x", signature[:32] + larger.to_bytes(32, "little"))


@pytest.mark.parametrize(
    "key", [b"", b"short", b"\xff" * 32, bytes(31) + b"\x80", b"\x02" + bytes(31)]
)
def test_what_is_no_key_signs_nothing(key: bytes) -> None:
    signature = sign(bytes(32), b"x")
    assert not is_signed(key, b"x", signature)
    assert not is_signed(public_key(bytes(32)), b"x", key + signature[1:])


def test_a_fingerprint_is_short_enough_to_compare() -> None:
    assert len(fingerprint(public_key(bytes(32)))) == 32

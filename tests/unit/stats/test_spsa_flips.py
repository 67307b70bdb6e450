"""Packing and signing the directions of a perturbation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.stats.spsa import joint_signature, pack, packed_size, signature, unpack
from rookery.stats.spsa_parameters import SpsaFault


def test_the_first_flip_is_the_most_significant_bit() -> None:
    packed = pack([1, -1, -1, 1, 1, 1, -1, -1, 1, -1])
    assert packed == bytes.fromhex("9c80")
    assert signature(packed) == 1905611977


def test_no_flips_have_the_signature_zero() -> None:
    assert signature(pack([])) == 0


def test_signatures_are_never_negative() -> None:
    assert all(signature(bytes([value])) >= 0 for value in range(256))


@given(st.lists(st.sampled_from([1, -1]), max_size=40))
def test_unpacking_gives_the_flips_back(flips: list[int]) -> None:
    packed = pack(flips)
    assert len(packed) == packed_size(len(flips))
    assert unpack(packed, len(flips)) == tuple(flips)


def test_bits_behind_the_last_parameter_do_not_count() -> None:
    assert unpack(b"\xbf", 2) == (1, -1)


def test_a_draw_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(SpsaFault, match="holds 1 values, 2 are wanted"):
        unpack(b"\x00", 9)


def test_perturbations_given_out_together_are_signed_together() -> None:
    assert joint_signature([b"\x9c", b"\x80"]) == 1905611977

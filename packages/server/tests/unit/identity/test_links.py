"""Links that are mailed: bound to their purpose, their user and their time."""

from dataclasses import replace

import pytest

from rookery.server.identity.links import LinkPurpose, LinkRefused, LinkSigner
from tests.fakes import HandClock
from tests.people import OLGA


@pytest.mark.parametrize("purpose", LinkPurpose)
def test_a_link_is_for_its_user_and_purpose_alone(purpose: LinkPurpose) -> None:
    links = LinkSigner(lambda: b"key", HandClock())
    token = links.make(purpose, OLGA)
    assert links.check(purpose, token, OLGA) is OLGA
    for user in (None, replace(OLGA, name="sven"), replace(OLGA, blocked=True)):
        with pytest.raises(LinkRefused):
            links.check(purpose, token, user)
    for other in set(LinkPurpose) - {purpose}:
        with pytest.raises(LinkRefused):
            links.read_name(other, token)


def test_a_link_ends_with_what_it_is_bound_to_and_with_its_time() -> None:
    clock = HandClock()
    links = LinkSigner(lambda: b"key", clock)
    reset, confirm = (links.make(each, OLGA) for each in (LinkPurpose.RESET, LinkPurpose.CONFIRM))
    with pytest.raises(LinkRefused):
        links.check(LinkPurpose.RESET, reset, replace(OLGA, password_hash="another"))
    with pytest.raises(LinkRefused):
        links.check(LinkPurpose.CONFIRM, confirm, replace(OLGA, email="a@b.cd"))
    clock.move(seconds=3601)
    with pytest.raises(LinkRefused):
        links.read_name(LinkPurpose.RESET, reset)
    assert links.read_name(LinkPurpose.CONFIRM, confirm) == "olga"

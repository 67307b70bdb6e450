"""How patient the site is with slow clients comes from its settings, within what the app allows."""

import pytest

from rookery.errors import Complaint
from rookery.settings import Settings
from rookery.web.bodies import BODY_SECONDS
from rookery.web.limits import RequestBounds


def test_the_settings_say_how_long_a_request_may_take_to_come() -> None:
    settings = Settings.read({"ROOKERY_HEAD_SECONDS": "7", "ROOKERY_BODY_SECONDS": "9"})
    limits = RequestBounds.of_settings(settings)
    assert (limits.head_seconds, limits.body_seconds) == (7, 9)


def test_nobody_waits_longer_for_a_body_than_the_app_does() -> None:
    assert RequestBounds.of_settings(Settings()).body_seconds <= BODY_SECONDS
    with pytest.raises(Complaint, match="ROOKERY_BODY_SECONDS"):
        Settings.read({"ROOKERY_BODY_SECONDS": str(int(BODY_SECONDS) + 1)})

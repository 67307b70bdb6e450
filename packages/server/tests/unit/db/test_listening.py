"""Changes reach those who asked for their channel."""

from rookery.server.db.listening import ChangeNotices, Channel


def test_each_hears_its_own_channel() -> None:
    changes, heard = ChangeNotices(), list[str]()
    changes.subscribe(Channel.USERS, heard.append, heard.clear)
    changes.publish(Channel.USERS, "ada")
    changes.publish(Channel.TOKENS, "t1")
    assert heard == ["ada"]


def test_what_may_have_been_missed_is_told_to_all() -> None:
    changes, told = ChangeNotices(), list[str]()
    changes.subscribe(Channel.USERS, told.append, lambda: told.append("users"))
    changes.subscribe(Channel.TOKENS, told.append, lambda: told.append("tokens"))
    changes.notify_missed()
    assert told == ["users", "tokens"]

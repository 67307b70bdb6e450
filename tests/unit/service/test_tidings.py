"""Tidings reach those who asked for their channel."""

from rookery.db.listening import Channel, Tidings


def test_each_hears_its_own_channel() -> None:
    tidings, heard = Tidings(), list[str]()
    tidings.on(Channel.USERS, heard.append, heard.clear)
    tidings.tell(Channel.USERS, "ada")
    tidings.tell(Channel.TOKENS, "t1")
    assert heard == ["ada"]


def test_what_may_have_been_missed_is_told_to_all() -> None:
    tidings, told = Tidings(), list[str]()
    tidings.on(Channel.USERS, told.append, lambda: told.append("users"))
    tidings.on(Channel.TOKENS, told.append, lambda: told.append("tokens"))
    tidings.miss()
    assert told == ["users", "tokens"]

"""People and what they are told, in a real browser: tokens, mail, webhooks, a new password.

An author on a phone and an approver at a desk; a mail server and a webhook on this machine.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.commands import add_user
from tests.pages.chromium import open_chromium
from tests.pages.people import DESK, PHONE, Person
from tests.receivers import Listener, MailBox, open_listener, open_mail_box
from tests.rookery_process import run_rookery
from tests.submissions import SPRT, body

pytestmark = pytest.mark.timeout(300)

BETTER = "walnut orbit pickle tram"
PLACE = "/profile/notifications"
KEEPS_NOTIFICATIONS = """
window.shown = [];
window.Notification = class extends Notification {
    constructor(title, options) { super(title, options); window.shown.push(options.body); }
};
"""


@dataclass(slots=True)
class Town:
    """Those who meet here. The tests below follow one another, as days do."""

    address: str
    author: Person
    approver: Person
    mail: MailBox
    hook: Listener
    token: str = ""
    run: str = ""

    def link_in_letter(self, number: int) -> str:
        """The path of the first link in a letter, once it has come."""
        wait_until(lambda: len(self.mail.letters) >= number)
        found = re.search(r"http://[^/\s]+(/\S+)", self.mail.letters[number - 1].get_content())
        assert found is not None
        return found[1]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="module", name="town")
def _town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    assert add_user("alice", folder / "data", "--approver").returncode == 0
    with open_mail_box() as mail, open_listener() as hook:
        settings = {
            "ROOKERY_SMTP_HOST": "127.0.0.1",
            "ROOKERY_SMTP_PORT": str(mail.port),
            "ROOKERY_SMTP_TLS": "none",
            "ROOKERY_MAIL_FROM": "Rookery <rookery@example.org>",
            "ROOKERY_WEBHOOK_HOSTS": "127.0.0.1",
        }
        with (
            run_rookery(folder / "data", "serve", settings=settings) as server,
            open_chromium(folder / "profile") as browser,
        ):
            author, approver = browser.new_person(), browser.new_person("notifications")
            approver.call("Page.addScriptToEvaluateOnNewDocument", source=KEEPS_NOTIFICATIONS)
            author.size(*PHONE)
            approver.size(*DESK, dark=True)
            address = server.address
            people = Person("anton", author, address), Person("alice", approver, address)
            yield Town(address, *people, mail, hook)


def test_an_approver_adds_a_webhook_and_tries_it(town: Town) -> None:
    alice = town.approver
    alice.log_in()
    alice.go(PLACE)
    alice.fill(address=town.hook.address)
    alice.tab.click(f"form[action='{PLACE}/webhooks'] input[value=account_waiting]")
    assert "Webhook secret" in alice.press(f"{PLACE}/webhooks")
    assert "The webhook accepted the trial." in alice.press(f"{PLACE}/change")
    assert town.hook.calls


def test_an_approver_wants_to_be_told_in_the_browser(town: Town) -> None:
    alice = town.approver
    alice.go(PLACE)
    alice.tab.click("[data-news]")
    button = "document.querySelector('[data-news]')"
    alice.tab.until(f"{button}.textContent === 'Notifications on'")
    alice.tab.until("localStorage.getItem('rookery.news.place')")


def test_an_author_signs_up_confirms_the_address_and_is_let_in(town: Town) -> None:
    anton, alice = town.author, town.approver
    anton.sign_up()
    wait_until(lambda: len(town.hook.calls) >= 2)
    (told,) = json.loads(town.hook.calls[1].body)["notifications"]
    assert (told["kind"], told["user"]) == ("account_waiting", "anton")
    anton.go(town.link_in_letter(1))
    assert "Your e-mail address is confirmed." in anton.press("/confirm")
    assert "anton@example.org" in alice.go("/users?state=pending")
    alice.press("/users/anton/accept")
    anton.log_in()


def test_an_author_makes_a_token_and_submits_with_it(town: Town) -> None:
    anton = town.author
    anton.go("/tokens")
    found = re.search(r"rk_[a-z0-9]{40,}", anton.press("/tokens"))
    assert found is not None
    headers = {"authorization": f"Bearer {found[0]}"}
    answer = httpx.post(f"{town.address}/api/v1/runs", json=body(sprt=SPRT), headers=headers)
    assert answer.status_code == 201, answer.text
    town.run = answer.json()["id"]
    alice = town.approver.tab
    alice.until("window.shown.some(text => text.includes('by anton waits for approval'))")


def test_an_author_is_mailed_when_somebody_ends_the_test(town: Town) -> None:
    anton, alice = town.author, town.approver
    anton.go(PLACE)
    anton.tab.click(f"form[action='{PLACE}/mail'] input[value=run_finished]")
    assert "You will get mail." in anton.press(f"{PLACE}/mail")
    assert "Unfollow" in anton.go(f"/runs/{town.run}")
    alice.go(f"/runs/{town.run}")
    alice.press(f"/runs/{town.run}/stop")
    assert town.link_in_letter(2) == f"/runs/{town.run}"
    assert "stopped by alice" in town.mail.letters[1]["Subject"]
    assert "sent" in anton.go(PLACE)


def test_everybody_may_see_these_pages(town: Town) -> None:
    for path in ("/profile", "/users/anton", "/contributors", "/teams"):
        town.author.go(path)
        town.approver.go(path)
    town.author.go("/teams")
    town.author.fill(name="owls")
    assert "You now lead the team owls." in town.author.press("/teams")


def test_a_forgotten_password_is_replaced_by_a_link(town: Town) -> None:
    anton = town.author
    anton.tab.ask("document.querySelector('details.menu').open = true")
    anton.tab.submit("form[action='/logout'] button")
    anton.go("/login/reset")
    anton.fill(who="anton@example.org")
    assert "mailed it a link" in anton.press("/login/reset")
    anton.go(town.link_in_letter(3))
    anton.fill(password=BETTER, password2=BETTER)
    assert "Your password is changed." in anton.press("/login/new-password")
    anton.log_in(BETTER)


def test_a_blocked_author_is_told_why(town: Town) -> None:
    anton, alice = town.author, town.approver
    alice.go("/users/anton")
    alice.fill(message="too loud")
    alice.press("/users/anton/block")
    anton.tab.open(f"{town.address}/profile")
    assert "This account is blocked: too loud." in anton.tab.text()


def test_no_console_complained(town: Town) -> None:
    for person in (town.author, town.approver):
        assert person.tab.complaints() == []

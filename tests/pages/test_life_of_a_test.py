"""The life of a test for three people in real browsers, with a real server and a real worker.

An author, an approver and a volunteer; none of them has a shell. The worker is started with the
token that the volunteer is shown; letters go to a real mail server, webhooks to a real listener.
The tests of this file follow one another, as days do.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.commands import add_user
from tests.pages.chromium import Chromium, open_chromium
from tests.pages.people import DESK, PHONE, Person
from tests.ports import kept_port
from tests.receivers import Listener, MailBox, open_listener, open_mail_box
from tests.rookery_process import LIMIT_SECONDS, RookeryProcess, run_rookery
from tests.workers.processes import WorkerProcess, worker_process

pytestmark = pytest.mark.timeout(300)

GAMES = "Number(document.getElementById('games')?.textContent.replaceAll(',', '') ?? 0)"
NEW_PASSWORD = "four-other-random-words-9"


@dataclass(slots=True)
class Farm:
    """Those who meet here, and what the earlier tests have made."""

    folder: Path
    server: RookeryProcess
    mail: MailBox
    webhook: Listener
    author: Person
    approver: Person
    volunteer: Person
    run: str = ""
    token: str = ""
    machine: str = ""

    @property
    def page(self) -> str:
        return f"/runs/{self.run}"

    def letter_to(self, name: str, subject: str) -> EmailMessage:
        """The last letter to somebody with these words in its subject, once it has come."""

        def find() -> list[EmailMessage]:
            mine = [each for each in self.mail.letters if name in str(each["to"])]
            return [each for each in mine if subject in str(each["subject"]).lower()]

        until(lambda: bool(find()), f"{subject}: {[each['subject'] for each in self.mail.letters]}")
        return find()[-1]

    def follow_link(self, person: Person, letter: EmailMessage) -> None:
        found = re.search(rf"{person.address}\S+", letter.get_content())
        assert found, letter.get_content()
        person.go(found[0].removeprefix(person.address))


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = monotonic() + LIMIT_SECONDS
    while not condition():
        assert monotonic() < deadline, f"never came: {what}"
        sleep(0.05)


@pytest.fixture(scope="module", name="farm")
def _farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    folder = tmp_path_factory.mktemp("life")
    assert add_user("alice", folder / "data", "--approver").returncode == 0
    with (
        kept_port() as port,
        open_mail_box() as mail,
        open_listener() as webhook,
        run_rookery(
            folder / "data",
            "serve",
            f"--port={port}",
            settings=settings_of(port, mail),
        ) as server,
        open_chromium(folder / "profile") as browser,
    ):
        author = new_person(browser, server, "anton", DESK)
        approver = new_person(browser, server, "alice", DESK, dark=True)
        volunteer = new_person(browser, server, "vera", PHONE)
        yield Farm(folder, server, mail, webhook, author, approver, volunteer)


def settings_of(port: int, mail: MailBox) -> dict[str, str]:
    return {
        "ROOKERY_BASE_URL": f"http://127.0.0.1:{port}",
        "ROOKERY_SMTP_HOST": "127.0.0.1",
        "ROOKERY_SMTP_PORT": str(mail.port),
        "ROOKERY_SMTP_TLS": "none",
        "ROOKERY_MAIL_FROM": "Rookery <rookery@example.org>",
        "ROOKERY_WEBHOOK_HOSTS": "127.0.0.1",
        "ROOKERY_FRONT_END": "1",
    }


def new_person(
    browser: Chromium,
    server: RookeryProcess,
    name: str,
    size: tuple[int, int],
    *,
    dark: bool = False,
) -> Person:
    tab = browser.new_person()
    tab.size(*size, dark=dark)
    return Person(name, tab, server.address)


def test_an_author_and_a_volunteer_are_let_in(farm: Farm) -> None:
    farm.author.sign_up()
    farm.volunteer.sign_up()
    farm.approver.log_in()
    assert "2" in farm.approver.tab.text("header a[href^='/users']")
    farm.approver.go("/users")
    for name in ("anton", "vera"):
        farm.approver.press(f"/users/{name}/accept")
    farm.author.log_in()
    farm.volunteer.log_in()


def test_an_author_confirms_an_address_and_sets_up_an_account(farm: Farm) -> None:
    author = farm.author
    farm.follow_link(author, farm.letter_to("anton", "confirm"))
    author.tab.submit("main form button")
    author.go("/profile/notifications")
    author.tab.click("form[action$=mail] input[value=run_finished]")
    author.press("/profile/notifications/mail")
    author.fill(address=farm.webhook.address)
    assert "secret" in author.press("/profile/notifications/webhooks")
    author.go("/tokens")
    author.fill(note="my script")
    assert "rk_" in author.press("/tokens")
    assert "my script" in author.go("/tokens")


def test_a_volunteer_adds_a_machine_from_a_phone(farm: Farm) -> None:
    farm.volunteer.go("/machines/add")
    said = farm.volunteer.press("/machines/add")
    found = re.search(r"vera:(rkw_\w+)", said)
    assert found, said
    farm.token = found[1]
    farm.volunteer.tab.open(f"{farm.server.address}/machines/add")
    assert farm.token not in farm.volunteer.tab.text()


def test_an_author_adds_an_engine_by_a_form(farm: Farm) -> None:
    author = farm.author
    author.go("/teams")
    author.fill(name="wrens")
    author.press("/teams")
    author.go("/engines/new")
    author.fill(name="Wren", source="https://example.org/wren", team="wrens")
    author.fill(**{"recipe.kind": "installed", "recipe.output": "rookery-fledgling"})
    assert "Wren" in author.press("/engines/new", "button[value=save]")
    assert author.tab.ask("location.pathname") == "/engines/Wren", author.tab.text()


def test_an_author_submits_a_test_by_the_form(farm: Farm) -> None:
    author = farm.author
    author.go("/tests/new")
    author.tab.ask("window.leftBehind = true")
    author.fill(new_engine="Wren")
    author.tab.until("!window.leftBehind && document.readyState === 'complete'")
    author.fill(new_tag="careful", base_tag="careless", tests_repo="https://example.org/wren")
    author.fill(resolved_new="0" * 40, resolved_base="0" * 40)
    author.fill(new_options="Hash=16 Seed=1", base_options="Hash=16 Seed=2 Blunder=5", tc="N=200")
    author.fill(new_signature="30939", base_signature="30939", info="A test by a form")
    author.tab.submit("main button[name=do][value=submit]")
    place = str(author.tab.ask("location.pathname"))
    assert place.startswith("/runs/"), author.tab.text()
    farm.run = place.removeprefix("/runs/")
    author.look()
    assert "waits for approval" in author.tab.text()


def test_an_approver_reads_it_and_lets_it_play(farm: Farm) -> None:
    assert "A test by a form" in farm.approver.go(farm.page)
    farm.approver.press(f"{farm.page}/approve")


def test_everybody_watches_it_move_while_a_real_worker_plays(farm: Farm) -> None:
    farm.author.go(farm.page)
    with volunteers_machine(farm):
        farm.author.tab.until(f"{GAMES} > 0")
        seen = farm.author.tab.ask(GAMES)
        farm.author.tab.until(f"{GAMES} > {seen}")
        farm.author.look()
        assert "playing" in farm.volunteer.go("/machines")
        found = farm.volunteer.tab.ask("document.querySelector('a[href*=cores-]').pathname")
        farm.machine = str(found)
        farm.approver.go(farm.page)
        farm.approver.press(f"{farm.page}/stop")
        assert "stopped" in farm.approver.go(farm.page)
        until(lambda: "game 1" in farm.author.go(f"{farm.page}/games"), "the games")


@contextmanager
def volunteers_machine(farm: Farm) -> Iterator[WorkerProcess]:
    """A worker with the token that the page showed, which stands in the place of a password."""
    folder = farm.folder / "machine"
    folder.mkdir()
    (folder / "password").write_text(f"{farm.token}\n")
    with worker_process(farm.server.address, folder, user="vera") as worker:
        yield worker


def test_the_author_is_told_by_letter_and_by_webhook(farm: Farm) -> None:
    assert farm.page in farm.letter_to("anton", "careful").get_content()
    until(lambda: bool(farm.webhook.calls), "the webhook")
    assert farm.run in farm.webhook.calls[-1].body.decode()


def test_a_game_is_replayed_on_a_board(farm: Farm) -> None:
    farm.author.go(f"{farm.page}/games")
    farm.author.tab.submit(f"main a[href^='{farm.page}/games/']")
    farm.author.tab.until("document.querySelectorAll('main piece').length > 2")
    farm.author.look()


def test_the_run_is_purged_and_cloned(farm: Farm) -> None:
    farm.author.go(farm.page)
    assert "urge" in farm.author.press(f"{farm.page}/purge")
    assert "another run" in farm.author.go(f"/tests/new?clone={farm.run}")
    assert farm.author.tab.ask("document.querySelector('[name=new_tag]').value") == "careful"


def test_an_approver_blocks_a_machine(farm: Farm) -> None:
    farm.approver.go(farm.machine)
    farm.approver.fill(message="too many time losses")
    farm.approver.press(f"{farm.machine}/block")
    assert "too many time losses" in farm.volunteer.go(farm.machine)
    assert "Let it back in" not in farm.author.go(farm.machine)
    farm.approver.press(f"{farm.machine}/unblock")


def test_an_author_uploads_a_net(farm: Farm) -> None:
    net = farm.folder / "my.nnue"
    net.write_bytes(b"a net of few weights")
    farm.author.go("/upload")
    farm.author.tab.choose_file("main input[type=file]", net)
    farm.author.press("/upload")
    known = hashlib.sha256(net.read_bytes()).hexdigest()[:12]
    assert known in farm.author.go("/nets")


def test_a_forgotten_password_is_replaced_by_a_letter(farm: Farm) -> None:
    author = farm.author
    author.tab.ask("document.querySelector('form[action=\"/logout\"]').submit()")
    author.tab.until("location.pathname === '/' && document.readyState === 'complete'")
    author.go("/login/reset")
    author.fill(who="anton")
    author.press("/login/reset")
    farm.follow_link(author, farm.letter_to("anton", "password"))
    author.fill(password=NEW_PASSWORD, password2=NEW_PASSWORD)
    author.press("/login/new-password")
    author.log_in(NEW_PASSWORD)


def test_no_console_complained(farm: Farm) -> None:
    for person in (farm.author, farm.approver, farm.volunteer):
        assert person.tab.complaints() == []

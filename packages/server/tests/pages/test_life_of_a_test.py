"""The life of a test for three people in real browsers, with a real server and two real workers.

An author at a light desk, an approver at a dark one, and a volunteer with a phone, light by day and
dark by night; none of them has a shell. The engine is built from a git server on this machine. The
workers are started with the token that the volunteer is shown; letters go to a real mail server,
webhooks to a real listener. The tests of this file follow one another, as days do.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import pytest

from tests.commands import add_user
from tests.engines import repositories
from tests.engines.git_server import serving
from tests.makers import pairs
from tests.pages.chromium import Chromium, open_chromium
from tests.pages.people import DESK, PHONE, Person
from tests.ports import kept_port
from tests.receivers import Listener, MailBox, open_listener, open_mail_box
from tests.rookery_process import LIMIT_SECONDS, RookeryProcess, run_rookery
from tests.wire.worker.farm import stats, worker_info
from tests.workers.processes import worker_process

pytestmark = pytest.mark.timeout(300)

GAMES = "Number(document.getElementById('games')?.textContent.replaceAll(',', '') ?? 0)"
PIECES = "[...document.querySelectorAll('main piece')].map(e => e.className + e.style.transform)"
NEXT_MOVE = "main .lpv__controls__goto--next"
NEW_PASSWORD = "four-other-random-words-9"
CRASHING = "vera-8cores-1a2b3c4d"
STRUCK_PAIRS = 15


@dataclass(slots=True)
class Farm:
    """Those who meet here, and what the earlier tests have made."""

    folder: Path
    source: str
    server: RookeryProcess
    mail: MailBox
    webhook: Listener
    author: Person
    approver: Person
    volunteer: Person
    trial: str = ""
    run: str = ""
    token: str = ""
    machines: ExitStack = field(default_factory=ExitStack)
    """The workers that play, until they are sent home."""

    @property
    def page(self) -> str:
        return f"/runs/{self.run}"

    def start_machine(self, name: str) -> None:
        """A worker with the token that the page showed, which stands in the place of a password."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "password").write_text(f"{self.token}\n")
        worker = worker_process(self.server.address, folder, f"--key={name}", user="vera")
        self.machines.enter_context(worker)

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
    repositories.kestrelet(folder / "sources" / "kestrelet")
    assert add_user("alice", folder / "data", "--approver").returncode == 0
    with (
        kept_port() as port,
        open_mail_box() as mail,
        open_listener() as webhook,
        serving(folder / "sources", tls=False) as sources,
        run_rookery(
            folder / "data",
            "serve",
            f"--port={port}",
            settings=settings_of(port, mail),
        ) as server,
        open_chromium(folder / "profile") as browser,
        ExitStack() as machines,
    ):
        author = new_person(browser, server, "anton", DESK)
        approver = new_person(browser, server, "alice", DESK, dark=True)
        volunteer = new_person(browser, server, "vera", PHONE)
        source = f"{sources}/kestrelet"
        people = author, approver, volunteer
        yield Farm(folder, source, server, mail, webhook, *people, machines=machines)


def settings_of(port: int, mail: MailBox) -> dict[str, str]:
    return {
        "ROOKERY_BASE_URL": f"http://127.0.0.1:{port}",
        "ROOKERY_SMTP_HOST": "127.0.0.1",
        "ROOKERY_SMTP_PORT": str(mail.port),
        "ROOKERY_SMTP_TLS": "none",
        "ROOKERY_MAIL_FROM": "Rookery <rookery@example.org>",
        "ROOKERY_WEBHOOK_HOSTS": "127.0.0.1",
        "ROOKERY_FRONT_END": "1",
        "ROOKERY_GIT_SCHEMES": "http",
        "ROOKERY_GIT_HOSTS": "127.0.0.1",
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
    said = author.go("/profile")
    assert "anton" in said
    assert "anton@example.org" in author.tab.ask("document.documentElement.outerHTML")
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


def test_an_author_adds_an_engine_by_a_form_and_tries_it(farm: Farm) -> None:
    author = farm.author
    author.go("/teams")
    author.fill(name="wrens")
    author.press("/teams")
    author.go("/engines/new")
    author.fill(name="Kestrelet", source=farm.source, team="wrens", ref="main")
    author.fill(**{"recipe.kind": "make"})
    said = author.press("/engines/new", "button[value=try]")
    assert "Kestrelet is saved" in said
    assert "8 games against itself" in said
    farm.trial = str(author.tab.ask("location.pathname"))
    assert farm.trial.startswith("/runs/"), said


def test_the_trial_is_built_from_git_and_played_by_a_volunteers_machine(farm: Farm) -> None:
    farm.approver.go(farm.trial)
    farm.approver.press(f"{farm.trial}/approve")
    farm.author.go(farm.trial)
    farm.start_machine("one")
    farm.author.tab.until(f"{GAMES} === 8 && /finished/.test(document.body.innerText)")
    assert "Kestrelet" in farm.author.go("/engines/Kestrelet")


def test_an_author_wants_to_be_told_of_what_comes(farm: Farm) -> None:
    author = farm.author
    author.go("/profile/notifications")
    author.tab.click("form[action$=mail] input[value=run_finished]")
    author.press("/profile/notifications/mail")
    author.fill(address=farm.webhook.address)
    assert "secret" in author.press("/profile/notifications/webhooks")


def test_an_author_submits_a_test_by_the_form(farm: Farm) -> None:
    author = farm.author
    author.go("/tests/new")
    author.tab.ask("window.leftBehind = true")
    author.fill(new_engine="Kestrelet")
    author.tab.until("!window.leftBehind && document.readyState === 'complete'")
    author.fill(new_tag="piece-places", base_tag="main", tc="N=200", info="A test by a form")
    # So sure that it is not decided while people look, though it is reported soon.
    author.fill(**{"sprt.elo0": "0", "sprt.elo1": "30"})
    author.fill(**{"sprt.alpha": "0.00001", "sprt.beta": "0.00001"})
    author.tab.submit("main button[name=do][value=submit]")
    place = str(author.tab.ask("location.pathname"))
    assert place.startswith("/runs/"), author.tab.text()
    farm.run = place.removeprefix("/runs/")
    author.look()
    assert "waits for approval" in author.tab.text()


def test_an_approver_reads_it_and_lets_it_play(farm: Farm) -> None:
    said = farm.approver.go(farm.page)
    assert "A test by a form" in said
    assert "Value pieces by their place" in said
    farm.approver.press(f"{farm.page}/approve")


def test_everybody_watches_it_move_while_real_workers_play(farm: Farm) -> None:
    farm.author.go(farm.page)
    farm.start_machine("two")
    farm.author.tab.until(f"{GAMES} > 0")
    seen = farm.author.tab.ask(GAMES)
    farm.author.tab.until(f"{GAMES} > {seen}")
    farm.author.look()
    farm.author.go(f"{farm.page}/tasks")
    until(lambda: both_play(farm.author), "both machines")
    farm.volunteer.tab.size(*PHONE, dark=True)
    assert "playing" in farm.volunteer.go("/machines")
    assert "piece-places" in farm.volunteer.go(farm.page)


def both_play(person: Person) -> bool:
    person.tab.open(str(person.tab.ask("location.href")))
    said = person.tab.text()
    return all(name in said for name in ("vera-1cores-one", "vera-1cores-two"))


def test_a_machine_whose_engine_crashes_spoils_it(farm: Farm) -> None:
    info = worker_info("vera", "1a2b3c4d", rookery={"os": "linux", "cpu": "A hot one"})

    def send(path: str, **more: object) -> dict[str, Any]:
        body = {"password": farm.token, "worker_info": info, **more}
        answer = httpx.post(f"{farm.server.address}/api/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    granted = send("request_task")
    assert granted["run"]["_id"] == farm.run
    ids = {"run_id": farm.run, "task_id": granted["task_id"]}
    send("update_task", **ids, stats=stats(pairs(even=STRUCK_PAIRS, crashes=9)))
    assert "piece-places" in farm.volunteer.go(f"/machines/{CRASHING}")


def test_an_approver_stops_it(farm: Farm) -> None:
    farm.approver.go(farm.page)
    farm.approver.press(f"{farm.page}/stop")
    assert "stopped" in farm.approver.go(farm.page)
    farm.machines.close()


def test_the_author_is_told_by_letter_and_by_webhook(farm: Farm) -> None:
    assert farm.page in farm.letter_to("anton", "piece-places").get_content()
    until(lambda: bool(farm.webhook.calls), "the webhook")
    assert farm.run in farm.webhook.calls[-1].body.decode()


def test_a_game_is_replayed_on_a_board(farm: Farm) -> None:
    tab = farm.author.tab
    until(lambda: "game 1" in farm.author.go(f"{farm.trial}/games"), "the games")
    tab.submit(f"main tbody a[href^='{farm.trial}/games/']")
    tab.until(f"{PIECES}.length > 2")
    before = tab.ask(f"{PIECES}.join()")
    tab.click(NEXT_MOVE)
    tab.until(f"{PIECES}.length > 2 && {PIECES}.join() !== {before!r}")
    farm.author.look()


def test_a_purge_strikes_out_what_crashed(farm: Farm) -> None:
    farm.author.go(farm.page)
    before = farm.author.tab.ask(GAMES)
    said = farm.author.press(f"{farm.page}/purge")
    assert "1 tasks were struck out." in said
    assert farm.author.tab.ask(GAMES) == before - 2 * STRUCK_PAIRS
    assert CRASHING in farm.author.go(f"{farm.page}/tasks?state=struck+out")


def test_the_test_is_cloned_and_waits_again(farm: Farm) -> None:
    author = farm.author
    author.go(farm.page)
    author.tab.submit(f"main a[href='/tests/new?clone={farm.run}']")
    author.look()
    assert "another test" in author.tab.text()
    author.fill(info="The same once more")
    author.tab.submit("main button[name=do][value=submit]")
    place = str(author.tab.ask("location.pathname"))
    assert place.startswith("/runs/"), author.tab.text()
    assert place != farm.page
    said = author.tab.text()
    assert "The same once more" in said
    assert "waits for approval" in said


def test_an_approver_blocks_a_machine(farm: Farm) -> None:
    machine = f"/machines/{CRASHING}"
    farm.approver.go(machine)
    farm.approver.fill(message="too many crashes")
    farm.approver.press(f"{machine}/block")
    assert "too many crashes" in farm.volunteer.go(machine)
    assert "Unblock" not in farm.author.go(machine)
    farm.approver.press(f"{machine}/unblock")


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
    author.log_out()
    author.go("/login/reset")
    author.fill(who="anton")
    author.press("/login/reset")
    farm.follow_link(author, farm.letter_to("anton", "password"))
    author.fill(password=NEW_PASSWORD, password2=NEW_PASSWORD)
    author.press("/login/new-password")
    author.log_in(NEW_PASSWORD)


def test_everybody_logs_out_by_the_menu(farm: Farm) -> None:
    for person in (farm.author, farm.approver, farm.volunteer):
        person.log_out()
        person.go("/profile")
        assert person.tab.ask("location.pathname") == "/login"


def test_no_console_complained(farm: Farm) -> None:
    for person in (farm.author, farm.approver, farm.volunteer):
        assert person.tab.complaints() == []

"""What people do in a browser: they sign up, log in, submit, approve, look."""

from dataclasses import dataclass

from tests.commands import PASSWORD
from tests.pages.axe import find_violations
from tests.pages.chromium import Tab

PHONE, DESK = (390, 844), (1280, 900)
TOO_WIDE = """
document.documentElement.scrollWidth <= window.innerWidth ? [] :
    [...document.querySelectorAll('body *')]
        .filter(each => each.getBoundingClientRect().right > window.innerWidth + 1)
        .map(each => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 40)}`)
"""
BUTTON = "main form button[type=submit]"


@dataclass(slots=True)
class Person:
    """Somebody with a browser and an account, and without a shell."""

    name: str
    tab: Tab
    address: str

    def go(self, path: str) -> str:
        """Opens a page, which must be fit for everybody; gives its text."""
        self.tab.open(self.address + path)
        self.look()
        return self.tab.text()

    def look(self) -> None:
        """Whatever is on the screen breaks no rule of accessibility and fits its window."""
        place = self.tab.ask("location.pathname")
        faults = [*find_violations(self.tab), *self.tab.ask(TOO_WIDE)]
        assert faults == [], f"{place}: {faults}"

    def fill(self, **fields: str) -> None:
        for name, text in fields.items():
            self.tab.fill(f"main [name='{name}']", text)

    def press(self, action: str, button: str = "button:not([type=button])") -> str:
        """The button of a form that leads to an address; gives the text of what comes of it."""
        form = f"main form[action='{action}']"
        unfold = "?.closest('details')?.toggleAttribute('open', true)"
        self.tab.ask(f'document.querySelector("{form}"){unfold}')
        self.tab.submit(f"{form} {button}")
        self.look()
        return self.tab.text()

    def sign_up(self) -> None:
        self.go("/signup")
        self.fill(username=self.name, email=f"{self.name}@example.org")
        self.fill(password=PASSWORD, password2=PASSWORD)
        self.tab.submit(BUTTON)
        assert "once an approver has approved" in self.tab.text()

    def log_in(self, password: str = PASSWORD) -> None:
        self.go("/login")
        self.fill(username=self.name, password=password)
        self.tab.submit(BUTTON)
        assert self.tab.ask("location.pathname") == "/", self.tab.text()

    def log_out(self) -> None:
        """By the menu that every page has."""
        self.go("/")
        self.tab.click("header details.menu summary")
        self.tab.submit("header form[action='/logout'] button")
        assert "Log in" in self.tab.text("header")

"""One headless Chromium, driven through its pipe: pages are opened, clicked and pictured."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.pages.browser import FLAGS

LIMIT_SECONDS = 60.0


class Pipe:
    """Messages of the DevTools protocol, which end with a zero byte."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str = "", **params: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            answer = self._next(deadline - time.monotonic())
            assert answer is not None, f"{method} was not answered"
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def listen(self, seconds: float) -> None:
        """Take in what the browser tells by itself."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._next(left)

    def _next(self, seconds: float) -> dict[str, Any] | None:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reading], [], [], max(0.0, seconds))
            if not ready:
                return None
            piece = os.read(self._reading, 65536)
            assert piece, "the browser is gone"
            self._rest += piece
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message


class Tab:
    """A page in the browser."""

    def __init__(self, pipe: Pipe, session: str) -> None:
        self._pipe = pipe
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> dict[str, Any]:
        return self._pipe.call(method, self._session, **params)

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, expression: str) -> Any:
        """The value of a piece of JavaScript."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Waits until it holds, across the loading of pages."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not self._holds(expression):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            self._pipe.listen(0.05)

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.ask(f"!!({expression})"))
        except AssertionError as error:
            if "navigated" not in str(error):
                raise
            return False

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def click(self, selector: str) -> None:
        """With the mouse, where the element is."""
        place = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def fill(self, selector: str, text: str) -> None:
        """Types into a field, in the place of what stands there, as a script would hear it."""
        self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            f" e.focus(); e.value = {json.dumps(text)};"
            " for (const kind of ['input', 'change'])"
            " e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
        )

    def choose_file(self, selector: str, file: Path) -> None:
        """Puts a file into an input of a form."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        found = self.call("DOM.querySelector", nodeId=root, selector=selector)
        self.call("DOM.setFileInputFiles", nodeId=found["nodeId"], files=[str(file)])

    def submit(self, selector: str) -> None:
        """Clicks, and waits for the page that comes of it."""
        self.ask("window.leftBehind = true")
        self.click(selector)
        self.until("!window.leftBehind && document.readyState === 'complete'")

    def text(self, selector: str = "main") -> str:
        return str(self.ask(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def picture(self, file: Path, *, whole: bool = False) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Errors of scripts, of the console and of the content security policy, so far."""
        self._pipe.listen(0.1)
        events = (event for event in self._pipe.events if event.get("sessionId") == self._session)
        return [_text(event) for event in events if _is_complaint(event)]


def _is_complaint(event: dict[str, Any]) -> bool:
    params = event["params"]
    if event["method"] == "Runtime.exceptionThrown":
        return True
    if event["method"] == "Runtime.consoleAPICalled":
        return bool(params["type"] in ("error", "warning", "assert"))
    return bool(
        event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning")
    )


def _text(event: dict[str, Any]) -> str:
    return json.dumps(event["params"])[:500]


class Chromium:
    """A browser in which several people have a tab each, with cookies of their own."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def new_person(self, *permissions: str) -> Tab:
        """`permissions` are what this person's browser lets sites do without asking."""
        context = self._pipe.call("Target.createBrowserContext")["browserContextId"]
        if permissions:
            self._pipe.call(
                "Browser.grantPermissions", permissions=permissions, browserContextId=context
            )
        made = self._pipe.call("Target.createTarget", url="about:blank", browserContextId=context)
        joined = self._pipe.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        return Tab(self._pipe, joined["sessionId"])


@contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """A browser with one empty page; it is gone when the block is left."""
    with open_chromium(profile) as browser:
        yield browser.new_person()


@contextmanager
def open_chromium(profile: Path) -> Iterator[Chromium]:
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    assert program is not None, "the page tests need Chromium on the PATH"
    to_browser, from_browser = os.pipe(), os.pipe()
    # The browser reads its descriptor 3 and writes its descriptor 4, whatever ours are called.
    shell = f'exec 3<&{to_browser[0]} 4>&{from_browser[1]}; exec "$@"'
    process = subprocess.Popen(
        [
            "bash",
            "-c",
            shell,
            "bash",
            program,
            *FLAGS,
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "about:blank",
        ],
        pass_fds=(to_browser[0], from_browser[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser[0])
    os.close(from_browser[1])
    pipe = Pipe(from_browser[0], to_browser[1])
    try:
        yield Chromium(pipe)
    finally:
        process.kill()
        process.wait()
        os.close(to_browser[1])
        os.close(from_browser[0])

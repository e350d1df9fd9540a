"""A tab of a real browser, used as people use it: clicks at places, keys, printing.

Spoken to by Chrome's DevTools protocol over a pipe: JSON that ends with a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.analysis.browser import QUIET, chromium

CODES = {"Tab": 9, "Enter": 13}
MIDDLE = """
(() => {
  const part = document.querySelector(%s);
  part.scrollIntoView({block: 'center', behavior: 'instant'});
  const box = part.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
})()
"""


class Tab:
    """One page in a browser without a window."""

    def __init__(self, writing: int, reading: int) -> None:
        self._writing, self._reading = writing, reading
        self._rest = b""
        self._number = 0
        self.problems: list[str] = []  # errors and refusals that the page wrote to the console
        target = self._call("Target.createTarget", {"url": "about:blank"}, session=None)
        wanted = {"targetId": target["targetId"], "flatten": True}
        self._session = str(self._call("Target.attachToTarget", wanted, session=None)["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return what a method of the protocol answers."""
        return self._call(method, parameters, self._session)

    def _call(self, method: str, parameters: dict[str, Any], session: str | None) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": session} if session else {}
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        """Return the next message, and keep what a page complains of."""
        while b"\0" not in self._rest:
            piece = os.read(self._reading, 1 << 16)
            assert piece, "the browser is gone"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(str(message["params"]))
        if message.get("method") == "Log.entryAdded":
            self.problems.append(str(message["params"]["entry"]["text"]))
        if message.get("method") == "Runtime.consoleAPICalled":
            self.problems.append(str(message["params"]["args"]))
        return message

    def open(self, page: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file, and wait until it is loaded."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.as_uri())
        while self.value("document.readyState") != "complete":
            pass

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        wanted = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", **wanted)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Press the left button over an element."""
        x, y = self.value(MIDDLE % json.dumps(selector))
        pointer = {"x": x, "y": y, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **pointer)

    def press(self, key: str) -> None:
        """Press a key."""
        names = {"key": key, "code": key, "windowsVirtualKeyCode": CODES[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **names, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    def write(self, text: str) -> None:
        """Write where the cursor is."""
        self.call("Input.insertText", text=text)

    def choose(self, selector: str, text: str) -> None:
        """Choose an option: a list of options is no part of the page that could be clicked."""
        place, chosen = json.dumps(selector), json.dumps(text)
        self.value(
            f"(() => {{ const list = document.querySelector({place}); list.value = {chosen};"
            " list.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def picture(self, file: Path, whole: bool = False) -> None:
        """Write what is seen as PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(answer["data"]))

    def print(self, file: Path) -> None:
        """Print to a PDF file."""
        answer = self.call("Page.printToPDF", preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def new_tab() -> Iterator[Tab]:
    """Start a browser with one empty tab; end it afterwards.

    Its children may still write into its profile when it has ended.
    """
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = [*QUIET, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        browser = subprocess.Popen(
            ["/bin/bash", "-c", command, chromium(), *words],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Tab(from_us, to_us)
        finally:
            os.close(from_us)
            os.close(to_us)
            browser.terminate()
            browser.wait()

"""Chromium without a window, driven through its DevTools pipe. Standard library only.

The pipe (--remote-debugging-pipe) carries JSON messages that end in a zero byte: file descriptor 3 to the
browser, 4 from it. No port is opened.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--hide-scrollbars", "--mute-audio", "--disable-dev-shm-usage",
    # No name resolves: the network is off even where the machine has one.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class BrowserError(Exception):
    """The browser could not be started or did not answer."""


class Browser:
    """One browser with one page."""

    def __init__(self, seconds=60):
        program = next((path for name in NAMES if (path := shutil.which(name))), None)
        if program is None:
            raise BrowserError("no Chromium found; apt-get install chromium")
        self.seconds = seconds
        self.profile = tempfile.mkdtemp(prefix="linespeed-browser-")
        to_read, self.to = os.pipe()
        self.frm, from_write = os.pipe()

        def wire():
            # First out of the way of 3 and 4, whichever numbers the pipes have got.
            reading, writing = os.dup(to_read), os.dup(from_write)
            high_read, high_write = 100, 101
            os.dup2(reading, high_read)
            os.dup2(writing, high_write)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next((target for target in targets if target["type"] == "page"), None)
        target = page["targetId"] if page else self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.frm)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **params):
        """Sends a command and returns its result; events that come before it are kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session and not method.startswith("Target."):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + self.seconds
        while True:
            answer = self.receive(deadline, method)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error'].get('message')}")
            else:
                return answer["result"]

    def wait_for(self, event):
        """Waits until an event has come since the last command."""
        deadline = time.monotonic() + self.seconds
        while not any(known.get("method") == event for known in self.events):
            self.events.append(self.receive(deadline, event))

    def receive(self, deadline, what):
        """The next message."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.frm], [], [], left)[0]:
                raise BrowserError(f"no answer to {what} within {self.seconds} s")
            piece = os.read(self.frm, 1 << 16)
            if not piece:
                raise BrowserError(f"the browser ended before it answered {what}")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, script):
        """The value of a script in the page, as Python data."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"the check itself failed: {answer['exceptionDetails']}")
        return answer["result"].get("value")

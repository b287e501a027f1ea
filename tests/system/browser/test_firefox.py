"""A study's page in Firefox as Debian ships it, driven by WebDriver BiDi: Playwright has a Firefox of its own alone."""

import asyncio
import json
import re
import shutil
import subprocess
import threading

import pytest
from tornado.websocket import websocket_connect

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
TAB, ENTER = "\ue004", "\ue007"
FOCUS = "(it => it.getAttribute('aria-label') || it.textContent)(document.activeElement)"
ARRIVED = """new Promise((done) => {
  const look = () =>
    document.querySelector("h1") && document.readyState === "complete" ? done(true) : setTimeout(look, 20);
  look();
})"""
CELL = "smallcnn/digits/cpu/algo_impl"
PAGES = ["index.html", f"page/{CELL}.html"]


class Firefox:
    """A headless Firefox with one window. `errors` has what its console calls errors, `requests` what it asks for."""

    def __init__(self, profile):
        command = [FIREFOX, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # A loop in a thread of its own: Playwright has one in this thread.
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.errors, self.requests, self.number = [], [], 0
        listening = re.compile("WebDriver BiDi listening on (ws://[^ ]+)")
        address = next(found[1] for line in self.process.stderr if (found := listening.search(line.strip())))
        self.socket = self.done(self.joined(f"{address}/session"))
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.window = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def done(self, task):
        """The result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(task, self.loop).result(timeout=120)

    async def joined(self, address):
        """A connection to the browser."""
        return await websocket_connect(address, max_message_size=1 << 28)

    async def answered(self, message):
        """The answer to a command; events that come before it are kept."""
        await self.socket.write_message(json.dumps(message))
        while True:
            got = json.loads(await self.socket.read_message())
            if got.get("method") == "log.entryAdded" and got["params"]["level"] == "error":
                self.errors.append(got["params"]["text"])
            if got.get("method") == "network.beforeRequestSent":
                self.requests.append(got["params"]["request"]["url"])
            if got.get("id") == message["id"]:
                return got

    def call(self, method, **parameters):
        """The result of a command."""
        self.number += 1
        got = self.done(self.answered({"id": self.number, "method": method, "params": parameters}))
        assert got["type"] == "success", got
        return got["result"]

    def open(self, address):
        """Open a page in the window and wait until all of its view has arrived."""
        self.call("browsingContext.navigate", context=self.window, url="about:blank", wait="complete")
        self.call("browsingContext.navigate", context=self.window, url=address, wait="complete")
        self.arrived()

    def arrived(self):
        """Wait until all that a view has to load is there."""
        assert self.value(ARRIVED) is True

    def value(self, expression):
        """What JavaScript makes of an expression, through JSON."""
        target, code = {"context": self.window}, f"Promise.resolve({expression}).then(JSON.stringify)"
        done = self.call("script.evaluate", expression=code, target=target, awaitPromise=True)
        assert done["type"] == "success", done
        return json.loads(done["result"]["value"])

    def press(self, key):
        """Press a key of the keyboard and let it go."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        source = {"type": "key", "id": "keyboard", "actions": keys}
        self.call("input.performActions", context=self.window, actions=[source])

    def wide(self, width):
        """Make the window so wide."""
        self.call("browsingContext.setViewport", context=self.window, viewport={"width": width, "height": 800})

    def close(self):
        """End the browser."""
        self.loop.call_soon_threadsafe(self.socket.close)
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    assert FIREFOX, "no Firefox on this machine: apt-get install firefox-esr"
    firefox = Firefox(tmp_path_factory.mktemp("profile"))
    yield firefox
    firefox.close()


@pytest.fixture
def firefox(running):
    running.errors.clear()
    running.requests.clear()
    return running


def test_keys_lead_from_the_top_to_a_cell(firefox, results_folder):
    firefox.open((results_folder / "index.html").as_uri())
    for name in ("Skip to content", "a new seed and the implementation"):
        for _ in range(12):
            firefox.press(TAB)
            if firefox.value(FOCUS).strip().startswith(name):
                break
        firefox.press(ENTER)
        firefox.arrived()
    assert firefox.value("document.querySelector('h1').textContent").startswith("smallcnn on digits")
    assert firefox.errors == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_without_an_error_or_a_barrier_and_fits_its_window(firefox, results_folder, axe, name):
    for width in (390, 1280):
        firefox.wide(width)
        firefox.open((results_folder / name).as_uri())
        assert firefox.value("document.documentElement.scrollWidth") <= width
    assert firefox.errors == []
    assert {one.partition(":")[0] for one in firefox.requests} <= {"file", "about", "data"}
    firefox.call("script.evaluate", expression=axe, target={"context": firefox.window}, awaitPromise=False)
    found = firefox.value("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []

"""A page in headless Chromium, spoken to over its debugging protocol: any width, and no network."""

import asyncio
import json
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--remote-debugging-port=0",
)  # fmt: skip
COMPLAINTS = (
    "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Network.loadingFailed",
)  # fmt: skip
KEYS = {"Tab": {"windowsVirtualKeyCode": 9}, "Enter": {"windowsVirtualKeyCode": 13, "text": "\r"}}


@contextmanager
def chromium(profile):
    """Start Chromium and yield the address of its first page."""
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = _wait_for(Path(profile) / "DevToolsActivePort", process)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=20) as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page"]
        yield pages[0]["webSocketDebuggerUrl"]
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(file, process, patience=30):
    for _ in range(patience * 10):
        if file.is_file() and file.read_text().strip():
            return int(file.read_text().split()[0])
        assert process.poll() is None, "Chromium did not start"
        time.sleep(0.1)
    raise AssertionError("Chromium did not open its port")


def look(address, path, width, script="null", *, first="null", keys=()):
    """Load a file `width` pixels wide and return (what `script` gives, what Chromium complained of).

    Before that runs the script `first`, and `keys` are pressed.
    """
    return asyncio.run(_look(address, Path(path).resolve().as_uri(), width, script, first, keys))


async def _look(address, url, width, script, first, keys):
    from tornado.websocket import websocket_connect

    socket = await websocket_connect(address, max_message_size=1 << 28)
    events, count = [], 0

    async def ask(method, **parameters):
        nonlocal count
        count += 1
        await socket.write_message(json.dumps({"id": count, "method": method, "params": parameters}))
        while True:
            message = json.loads(await asyncio.wait_for(socket.read_message(), 60))
            if message.get("id") == count:
                assert "error" not in message, message
                return message["result"]
            events.append(message)

    for domain in ("Page", "Runtime", "Log", "Network"):
        await ask(f"{domain}.enable")
    offline = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    await ask("Network.emulateNetworkConditions", offline=True, **offline)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    await ask("Emulation.setDeviceMetricsOverride", **size)
    del events[:]
    await ask("Page.navigate", url=url)
    while not any(event["method"] == "Page.loadEventFired" for event in events):
        events.append(json.loads(await asyncio.wait_for(socket.read_message(), 60)))
    await ask("Runtime.evaluate", expression=first)
    for key in keys:
        for kind in ("keyDown", "keyUp"):
            await ask("Input.dispatchKeyEvent", type=kind, key=key, **KEYS.get(key, {}))
    found = await ask("Runtime.evaluate", expression=script, returnByValue=True)
    socket.close()
    while await asyncio.wait_for(socket.read_message(), 60) is not None:
        pass
    return found["result"].get("value"), [event for event in events if event["method"] in COMPLAINTS]

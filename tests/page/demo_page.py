#!/usr/bin/env python3
"""Lets the demo's shop sell for a while, and walks from its slow requests to the lines that make them slow, in a
real browser. PAGE_DEMO=DIR examines what an earlier run has kept (`spanflame demo --once --keep`) instead; PAGE_DEMO=recorded
the recording of tests/data/demo, in its time; --planted does so too, and only finds the planted problems. --shots writes the pictures of docs/images from the recording (`make shots`), --shots
--compare holds those of the tree against the page as it is."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__)), os.path.join(SOURCE, "tests")]
from server import PROGRAM, Server  # noqa: E402
from support.faultfs import faultfs  # noqa: E402
import chromium  # noqa: E402

SECONDS = 24  # nine orders or more take the slow way: a comparison wants eight


def sell():
    """Where the demo left its data."""
    done = subprocess.run([PROGRAM, "demo", "--once", "--keep", "--seconds", str(SECONDS)], capture_output=True,
                          text=True, timeout=300, check=False)
    kept = re.search(r"The data stays in (\S+)", done.stdout)
    assert kept, done.stdout + done.stderr
    return kept.group(1)


def recorded(home):
    """A server on a copy of the recording, at the time it was made, and that time."""
    source = os.path.join(SOURCE, "tests", "data", "demo")
    shutil.copytree(os.path.join(source, "planted"), os.path.join(home, "data"))
    with open(os.path.join(source, "made"), encoding="ascii") as f:
        made = int(f.read())
    clock = faultfs.Control(os.path.join(home, "clock"), os.path.join(os.environ["BUILD_ROOT"], "tests", "libfaultfs.so"))
    clock.set_clock(made - time.time())
    links = "page: {source_link: 'https://git.example/shop/{file}#L{line}', source_root: /usr/src/spanflame/, source_folder: " + SOURCE + ", logs_link: 'https://logs.example/?q={traceId}'}\n"
    return Server(links, data=os.path.join(home, "data"), env=clock.env()), made


FONT = "Liberation Sans"  # letters of another width break lines elsewhere


def has_font():
    return shutil.which("fc-list") and FONT in subprocess.run(["fc-list", ":", "family"], capture_output=True, text=True, check=False).stdout


chromium.need()
if "--compare" in sys.argv and not has_font():
    chromium.skip(f"the pictures are made with {FONT}, which is not here (tools/deps shots)")
kept = os.environ.get("PAGE_DEMO")
is_shots = "--shots" in sys.argv
is_planted = "--planted" in sys.argv
is_recorded = is_shots or is_planted or kept == "recorded"
home = tempfile.mkdtemp(prefix="spanflame-page-") if is_recorded else kept or sell()
try:
    made = None
    if is_recorded:
        server, made = recorded(home)
    else:
        server = Server(data=os.path.join(home, "data"))
    with server:
        chromium.need_page(server)
        told = {"url": f"http://127.0.0.1:{server.port}", "images": os.path.join(SOURCE, "docs", "images"),
                "compare": "--compare" in sys.argv}
        if is_planted:
            told["part"] = "short"
        if made is not None:
            told["nowMs"] = made * 1000
        code = chromium.drive("shots.mjs" if is_shots else "demo.mjs", told, "page-shots/demo")
finally:
    if is_recorded or not kept:
        shutil.rmtree(home, ignore_errors=True)
sys.exit(code)

#!/usr/bin/env python3
"""Lets the demo's shop sell for a while, and walks from its slow requests to the lines that make them slow, in a
real browser. PAGE_DEMO=DIR looks at what an earlier run has kept (`spanflame demo --once --keep`) instead."""
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__))]
from server import PROGRAM, Server  # noqa: E402
import chromium  # noqa: E402

SECONDS = 24  # nine orders or more take the slow way: a comparison wants eight


def sell():
    """Where the demo left its data."""
    done = subprocess.run([PROGRAM, "demo", "--once", "--keep", "--seconds", str(SECONDS)], capture_output=True,
                          text=True, timeout=300, check=False)
    kept = re.search(r"The data stays in (\S+)", done.stdout)
    assert kept, done.stdout + done.stderr
    return kept.group(1)


chromium.need()
kept = os.environ.get("PAGE_DEMO")
home = kept or sell()
try:
    with Server(data=os.path.join(home, "data")) as server:
        chromium.need_page(server)
        code = chromium.drive("demo.mjs", {"url": f"http://127.0.0.1:{server.port}"}, "page-shots/demo")
finally:
    if not kept:
        shutil.rmtree(home, ignore_errors=True)
sys.exit(code)

#!/usr/bin/env python3
"""Starts a server, fills it, and lets browser.mjs click through the page in a real browser."""
import json
import os
import shutil
import subprocess
import sys

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__))]
from server import PROGRAM, Server  # noqa: E402
import seed  # noqa: E402


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def token_file(folder):
    """(path, a token that may read)"""
    done = subprocess.run([PROGRAM, "token", "new", "--name", "page", "--scopes", "read"], capture_output=True,
                          text=True, check=True)
    token, line = [text for text in done.stdout.splitlines() if text and not text.startswith("#")]
    path = os.path.join(folder, "tokens")
    with open(path, "w", encoding="ascii") as f:
        os.chmod(path, 0o600)
        f.write(line + "\n")
    return path, token


browser = shutil.which("chromium") or shutil.which("chromium-browser")
if not browser:
    skip("there is no chromium here")
if not shutil.which("node") or not os.path.isdir(os.path.join(SOURCE, "web", "node_modules", "playwright-core")):
    skip("there is no Node here, or tools/page --tests was not run")

shots = os.path.join(os.environ["BUILD_ROOT"], "page-shots")
os.makedirs(shots, exist_ok=True)
with Server() as full, Server() as empty:
    if "built without its web page" in full.get("/").text:
        skip("this server was built without its page")
    tokens, token = token_file(empty.home)
    with Server(f"auth:\n  token_file: {tokens}\n") as locked:
        ids = seed.fill(full)
        ids["big"] = seed.big_trace(full)
        seed.big_profile(full)
        story = {"url": f"http://127.0.0.1:{full.port}", "empty": f"http://127.0.0.1:{empty.port}",
                 "locked": f"http://127.0.0.1:{locked.port}", "token": token, "ids": ids, "shots": shots,
                 "golden": os.path.join(SOURCE, "tests", "golden", "page"),
                 "browser": browser, "web": os.path.join(SOURCE, "web"), "emptyPid": empty.process.pid}
        node = subprocess.run(["node", os.path.join(SOURCE, "tests", "page", "browser.mjs"), json.dumps(story)],
                              check=False, timeout=500)
sys.exit(node.returncode)

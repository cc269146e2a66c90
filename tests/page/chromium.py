"""chromium.py - the browser the page's tests run in, and the program that drives it."""
import json
import os
import shutil
import subprocess
import sys

SOURCE = os.environ["SOURCE_ROOT"]


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def need():
    """The browser's path; a skip where there is none, or nothing to drive it."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        skip("there is no chromium here")
    if not shutil.which("node") or not os.path.isdir(os.path.join(SOURCE, "web", "node_modules", "playwright-core")):
        skip("there is no Node here, or tools/page --tests was not run")
    return path


def need_page(server):
    if "built without its web page" in server.get("/").text:
        skip("this server was built without its page")


def drive(script, story, shots):
    """Runs tests/page/SCRIPT, which prints TAP; its exit code."""
    folder = os.path.join(os.environ["BUILD_ROOT"], shots)
    os.makedirs(folder, exist_ok=True)
    told = dict(story, browser=need(), web=os.path.join(SOURCE, "web"), shots=folder,
                golden=os.path.join(SOURCE, "tests", "golden", "page"))
    node = subprocess.run(["node", os.path.join(SOURCE, "tests", "page", script), json.dumps(told)], check=False,
                          timeout=500)
    return node.returncode

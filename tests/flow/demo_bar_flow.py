#!/usr/bin/env python3
"""A running demo, switched as its page does it: by the settings that readers keep. Each switch is named by an alert within 30 s of
traffic: 600 orders, which a machine that is busy with other things sells in more time. A server that others reach requests a token."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.environ["SOURCE_ROOT"], "tests")]
from server import PROGRAM, tap  # noqa: E402

SCALE = max(1.0, float(os.environ.get("CHECK_SCALE", "1")))
RATE, TRAFFIC_S = 20, 30
SETTINGS = "/settings.v1.SettingsService/"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Demo:
    """One that sells for an hour before its story: the time in between is ours."""

    def __init__(self, *flags, host="127.0.0.1"):
        self.port = free_port()
        self.out = tempfile.NamedTemporaryFile("w+", prefix="spanflame-demo-", suffix=".txt")
        self.process = subprocess.Popen([PROGRAM, "demo", "--listen", f"{host}:{self.port}", *flags], stdout=self.out, stderr=subprocess.STDOUT)

    def said(self):
        with open(self.out.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def call(self, path, body=None, token=None):
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", None if body is None else json.dumps(body).encode(), headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.loads(answer.read())

    def wait(self, condition, what, seconds=60):
        end = time.monotonic() + seconds * SCALE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.said()
            try:
                found = condition()
            except (OSError, urllib.error.URLError):
                found = None
            if found:
                return found
            time.sleep(0.3)
        raise AssertionError(f"{what}\n{self.call('/api/v1/alerts/history')}\n{self.call('/api/v1/alerts')}\n{self.said()[-2000:]}")

    def state(self):
        for one in self.call(SETTINGS + "Get", {}).get("settings", []):
            if one["name"] == "spanflame.demo":
                return json.loads(one["value"])
        return None

    def wish(self, **wanted):
        """Gives the state once the demo has looked at it."""
        kept = self.call(SETTINGS + "Set", {"setting": {"name": "spanflame.demo.wish", "value": json.dumps(wanted)}})
        at = int(kept["setting"]["modifiedAt"])
        return self.wait(lambda: (s := self.state()) and s["wishAt"] >= at and s, f"the wish {wanted}")

    def firing(self, name, word):
        return [a for a in self.call("/api/v1/alerts")["data"]["alerts"] if a["labels"]["alertname"] == name and a["state"] == "firing"
                and word in " ".join([a["annotations"].get("why", ""), a["annotations"].get("summary", ""), a["labels"].get("subject", "")])]

    def orders_between(self, from_s, until_s):
        asked = urllib.parse.urlencode({"q": '{ name = "POST /checkout" } | count_over_time()', "start": int(from_s), "end": int(until_s) + 1})
        return sum(float(s["value"]) for s in self.call("/api/metrics/query?" + asked)["series"])

    def noticed(self, switched_ms, name, word):
        """The alert about a switch, and that it came in time."""
        alert = self.wait(lambda: self.firing(name, word), f"{name} about {word}", 120)[0]
        fired_s = time.mktime(time.strptime(alert["activeAt"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
        assert fired_s >= switched_ms / 1e3 - 1, (alert, switched_ms)
        n = self.orders_between(switched_ms / 1e3, fired_s)
        print(f"# {name} names {word} {fired_s - switched_ms / 1e3:.0f} s and {n:.0f} orders after the switch")
        assert n <= TRAFFIC_S * RATE, (alert, switched_ms, n)
        assert urllib.parse.parse_qs(alert["annotations"]["page"])["view"], alert
        return alert

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        return self.said()


demo = Demo("--seconds", "3600", "--load", str(RATE), "--keep")


def all_names():
    return [p["name"] for p in demo.wait(demo.state, "the demo says what it is")["problems"]]


def test_1_the_demo_says_what_runs():
    state = demo.wait(demo.state, "the demo says what it is")
    assert state["commit"] == "abc123" and state["switchedAt"] == 0 and state["doing"], state
    assert 0 < state["startedAt"] < time.time() * 1000, state
    assert all(p["on"] and p["what"] and p["cost"] and p["service"] and p["cause"] for p in state["problems"]), state
    assert {"regex", "json", "serialiser", "n+1", "lock", "allocation", "database", "legacy", "regression"} <= set(all_names()), state


def test_2_a_wish_that_cannot_be_had_changes_nothing():
    for wanted, word in (({"off": ["lok"]}, 'no problem "lok"'), ({"commit": "feed"}, 'no commit "feed"'), ({"colour": "red"}, "colour")):
        state = demo.wish(**wanted)
        assert word in state["refused"] and state["commit"] == "abc123" and all(p["on"] for p in state["problems"]), (wanted, state)


def test_3_the_bad_commit_is_named_by_the_alert_and_by_guard():
    # Both sides of a comparison need 30 orders, and what it says is as sure as they are many.
    demo.wait(lambda: demo.orders_between(time.time() - 60, time.time()) >= 200, "traffic", 120)
    state = demo.wish(commit="def456")
    assert state["commit"] == "def456" and state["worse"] and state["switched"] == "def456" and not state["refused"], state
    demo.noticed(state["switchedAt"], "deploy", "evaluateRules")
    done = subprocess.run([PROGRAM, "guard", "--q", '{ name = "order.calculate_totals" }', "--by", "resource.commit", "--baseline", "abc123", "--candidate", "def456", "--since", "1h", "--server",
                           f"http://127.0.0.1:{demo.port}"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1 and "evaluateRules" in done.stdout, done


# What is switched off and on again: the rule, and the word of its alert.
SWITCHED = {"lock": ("lock", "reserveStock"), "regex": ("totals", "regexMatch"), "n+1": ("prices", "pricing.load_attribute"),
            "allocation": ("checkout", "assembleResponse"), "failure": ("failures", "coupon SUMMER-24"), "leak": ("leak", "keepQuote")}
if shutil.which("python3"):
    SWITCHED["python"] = ("suggestions", "rank_by_similarity")


def test_4_what_is_switched_off_is_over():
    state = demo.wish(commit="abc123", off=list(SWITCHED))
    assert state["commit"] == "abc123" and not state["worse"], state
    assert sorted(p["name"] for p in state["problems"] if not p["on"]) == sorted(SWITCHED), state
    for name, (rule, word) in SWITCHED.items():
        demo.wait(lambda rule=rule, word=word: not demo.firing(rule, word), f"{name} is over", 120)
    demo.wait(lambda: not demo.firing("deploy", ""), "the deploy is over", 120)


def test_5_what_is_switched_on_is_named_in_time():
    state = demo.wish(off=[])
    assert state["worse"] and all(p["on"] for p in state["problems"]), state
    for rule, word in SWITCHED.values():
        demo.noticed(state["switchedAt"], rule, word)


def test_6_a_demo_that_ends_takes_its_bar_away():
    said = demo.stop()
    home = re.search(r"The data stays in (\S+)", said).group(1)
    with open(os.path.join(home, "data", "settings"), encoding="utf-8") as f:
        assert "spanflame.demo" not in f.read()
    with open(os.path.join(home, "shop_shopper.log"), encoding="utf-8") as f:
        bought, failed = map(int, re.search(r"bought (\d+) failed (\d+)", f.read()).groups())
    assert bought > 200 and failed <= 0.045 * bought, (bought, failed)
    shutil.rmtree(home)


def test_7_a_server_that_others_reach_asks_for_a_token():
    # A name is taken for public, and this one is the loopback's.
    other = Demo("--once", "--seconds", "6", "--load", "5", "--off", "all", host="LOCALHOST")
    try:
        token = other.wait(lambda: re.search(r"export SPANFLAME_TOKEN=(\S+)", other.said()), "a token is printed").group(1)
        try:
            other.call("/api/v1/services")
            raise AssertionError("it answers without a token")
        except urllib.error.HTTPError as e:
            assert e.code == 401, e
        other.wait(lambda: "gateway" in json.dumps(other.call("/api/v1/services", token=token)), "the shop sends with the token")
        other.process.wait(120 * SCALE)
        assert f"http://LOCALHOST:{other.port}/?from=now-15m&view=trace" in other.said(), other.said()[:3000]
    finally:
        other.process.kill()
        other.process.wait()


def test_8_a_name_that_is_no_problem_and_an_address_that_is_none_are_refused():
    for flags in (["--off", "lok"], ["--listen", "a b"], ["--listen", "host:0"]):
        done = subprocess.run([PROGRAM, "demo", *flags], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2 and done.stderr, (flags, done)


try:
    tap.run(sys.modules[__name__])
finally:
    if demo.process.poll() is None:
        demo.stop()

"""Puts the ids of every OpenTelemetry span on the samples that Pyroscope's profiler takes in it, and does what the
server's /api/v1/control says.

Copy this file beside your program; it needs pyroscope-io and the OpenTelemetry SDK.

    provider.add_span_processor(SpanTagger())
    start(provider, application_name=..., server_address=...)

Without control: pyroscope.configure(..., tags=tags(provider)) in the place of start().

A thread's samples carry span_id and trace_id of the span that is current on it, not of the one that
started last: the tags change when a span becomes current and when it no longer is. Threads that a
span starts carry nothing until a span is current in them. For asyncio set the task factory of the
loop; every step of a task then has the tags of its own span:

    asyncio.get_running_loop().set_task_factory(task_factory)
"""
import asyncio
import collections.abc
import json
import os
import random
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pyroscope
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import SpanProcessor

_local = threading.local()
_starts = 0  # a profiler that was started again knows no tags


def _ids():
    of = trace.get_current_span().get_span_context()
    if not of.is_valid or not of.trace_flags.sampled or of.is_remote:
        return None
    share = _control.share
    if share < 1 and not is_in_share(of.trace_id, share) and baggage.get_baggage("profile") != "1":
        return None
    return format(of.span_id, "016x"), format(of.trace_id, "032x")


def _apply(ids):
    """Tags are a set: the old ones go first, or a sample would have both."""
    old, starts = getattr(_local, "ids", None), getattr(_local, "starts", _starts)
    if starts != _starts:
        old = None
    if old == ids:
        return
    _local.ids, _local.starts = ids, _starts
    for key, value in zip(("span_id", "trace_id"), old or ()):
        pyroscope.remove_thread_tag(key, value)
    for key, value in zip(("span_id", "trace_id"), ids or ()):
        pyroscope.add_thread_tag(key, value)


def _hook():
    runtime = context._RUNTIME_CONTEXT  # the one place where "current" changes
    if getattr(runtime, "is_spanflame", False):
        return

    class Hooked(type(runtime)):
        is_spanflame = True

        def attach(self, *args):
            token = super().attach(*args)
            _apply(_ids())
            return token

        def detach(self, *args):
            super().detach(*args)
            _apply(_ids())

    runtime.__class__ = Hooked


class SpanTagger(SpanProcessor):
    """Add it to the tracer provider, before the first span."""

    def __init__(self):
        _hook()

    def on_start(self, span, parent_context=None):
        span.set_attribute("pyroscope.profile.id", format(span.get_span_context().span_id, "016x"))


class _Steps(collections.abc.Coroutine):
    def __init__(self, inner):
        self._inner = inner

    def _step(self, go, *args):
        _apply(_ids())
        try:
            return go(*args)
        finally:
            _apply(None)

    def send(self, value):
        return self._step(self._inner.send, value)

    def throw(self, *args):
        return self._step(self._inner.throw, *args)

    def close(self):
        return self._inner.close()

    def __await__(self):
        return self._inner.__await__()


def task_factory(loop, coro, **more):
    """For loop.set_task_factory: what a task does between two awaits carries the tags of its span."""
    return asyncio.Task(_Steps(coro), loop=loop, **more)


def tags(provider):
    """What profiles need to say to be of the same process as the provider's spans."""
    of = provider.resource.attributes
    known = {"service.instance.id": of.get("service.instance.id"), "k8s.pod.name": of.get("k8s.pod.name"),
             "host.name": socket.gethostname(), "process.pid": str(os.getpid())}
    return {key: str(value) for key, value in known.items() if value}


# ---- control ----

def _mix(v):
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9 & 2**64 - 1
    v = (v ^ v >> 27) * 0x94d049bb133111eb & 2**64 - 1
    return v ^ v >> 31


def is_in_share(trace_id, share):
    """Whether a trace is in a share (0 to 1) of all: every process and the server choose the same ones."""
    halves = trace_id.to_bytes(16, "big")
    first, second = int.from_bytes(halves[:8], "little"), int.from_bytes(halves[8:], "little")
    return (_mix(_mix(first + 0x9e3779b97f4a7c15 & 2**64 - 1) ^ second) * 10000 >> 64) < share * 10000


_UNITS = {"": 1, "%": 0.01, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400, "B": 1, "KB": 1e3,
          "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _host_times():
    """(busy, all) CPU time of the host; (0, 0) where it is not told."""
    try:
        with open("/proc/stat", encoding="ascii") as f:
            fields = [int(n) for n in f.readline().split()[1:9]]
    except OSError:
        return 0, 0
    return sum(fields) - fields[3] - fields[4], sum(fields)


def _memory():
    try:
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class _Control:
    def __init__(self):
        self.share = 1.0      # of the requests whose samples name their spans
        self.doc = {}         # what the server said, line by line
        self.own = None       # what the handler was told last
        self.lowered = 1.0    # share of the rate, by load
        self.is_paused = False
        self.rate = 0         # in effect
        self.capture = 0      # its rate while one is taken
        self.taken = ""       # the last one
        self.is_stopped = True
        self.lock = threading.RLock()  # one change after the other

    def number(self, name, otherwise):
        """What the server says, else SPANFLAME_PROFILING_*: a share, seconds, bytes."""
        for text in (self.doc.get(name), os.environ.get("SPANFLAME_PROFILING_" + name.replace(".", "_").upper())):
            if text in ("true", "false"):
                return text == "true"
            found = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z%]*)", text or "")
            if found and found[2] in _UNITS:
                return float(found[1]) * _UNITS[found[2]]
        return otherwise

    def is_enabled(self):
        return self.own if self.own is not None else self.doc.get("enabled") != "false"

    def wanted(self):
        if self.is_stopped or not self.capture and (not self.is_enabled() or self.is_paused):
            return 0
        if self.capture:
            return self.capture
        holds = time.time() * 1000 < self.number("rate.until", float("inf"))
        base = self.number("cpu.sample_rate", 100)
        return max(1, int((self.number("rate.cpu", base) if holds else base) * self.lowered))

    def settle(self, is_cut=False):
        """A change restarts the profiler; what was sampled before it is sent."""
        global _starts
        with self.lock:
            self.share = max(self.number("conditional.share", 1), self.number("conditional.baseline", 0.01))
            hz = self.wanted()
            if hz == self.rate and not is_cut:
                return
            if self.rate:
                pyroscope.shutdown()
            if hz:
                pyroscope.configure(sample_rate=hz, **self.profiler)
                _starts += 1
            self.rate = hz

    def start(self, provider, profiler):
        known = tags(provider)
        self.instance = known.get("service.instance.id", str(os.getpid()))
        self.profiler = {"upload_interval": int(self.number("upload_interval", 10)), **profiler,
                         "tags": {**known, **profiler.get("tags", {})}}
        self.is_stopped = False
        self.settle()
        threading.Thread(target=self.watch_load, name="spanflame-load", daemon=True).start()
        if self.number("control.enabled", True):
            threading.Thread(target=self.ask_on, name="spanflame-control", daemon=True).start()

    def watch_load(self):
        """Halves the rate above the thresholds, and pauses while the host is overloaded."""
        over, before = 0, (*_host_times(), time.process_time(), time.monotonic())
        while not self.is_stopped:
            time.sleep(self.number("adaptive.interval", 10))
            now = (*_host_times(), time.process_time(), time.monotonic())
            host = (now[0] - before[0]) / max(1, now[1] - before[1])
            own, before = (now[2] - before[2]) / (now[3] - before[3]), now
            pause_at = self.number("load_shedding.cpu_threshold", 0.9)
            over = over + 1 if host >= pause_at else 0
            if not self.number("load_shedding.enabled", True) or host < pause_at - 0.1:
                self.is_paused = False
            elif over >= 2:
                self.is_paused = True
            is_loaded = max(host, own) >= self.number("adaptive.cpu_threshold", 0.8) or \
                _memory() >= (self.number("adaptive.memory_threshold", 512e6) or float("inf"))
            if not self.number("adaptive.enabled", False):
                self.lowered = 1.0
            else:
                self.lowered = max(1 / 8, self.lowered / 2) if is_loaded else min(1.0, self.lowered + 1 / 4)
            self.settle()

    def ask(self, news):
        query = {"format": "text", "service": self.profiler["application_name"], "instance": self.instance,
                 "wait": "1s" if news else "30s", "rate": self.rate, "paused": str(self.rate == 0).lower(), "pid": os.getpid(),
                 "host": socket.gethostname(), "agent": "spanflame-python/1", **news}
        headers = {"If-None-Match": f'"{self.doc["version"]}"'} if "version" in self.doc else {}
        if self.profiler.get("auth_token"):
            headers["Authorization"] = "Bearer " + self.profiler["auth_token"]
        if self.profiler.get("tenant_id"):
            headers["X-Scope-OrgID"] = self.profiler["tenant_id"]
        url = self.profiler["server_address"].rstrip("/") + "/api/v1/control?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=45) as answer:
                return answer.status, answer.read(65536).decode()
        except urllib.error.HTTPError as e:
            return e.code, ""

    def ask_on(self):
        context.attach(context.set_value("suppress_instrumentation", True))
        news, failures = {}, 0
        while not self.is_stopped:
            try:
                status, body = self.ask(news)
            except (OSError, ValueError):
                status, body = 0, ""
            pause = 0.1
            if status in (200, 304):
                failures, news = 0, {}
                if status == 200:
                    news = self.take(body)
            elif status in (401, 403, 404, 405):
                pause = 600
            else:
                failures = min(failures + 1, 4)
                pause = 0.25 * 2 ** failures
            time.sleep(pause * (0.5 + random.random()))

    def take(self, body):
        """Obeys; a capture is taken to its end. What there is to tell of it."""
        self.own = None  # what was stated last holds
        self.doc = dict(line.split(" ", 1) for line in body.splitlines() if " " in line)
        order = self.doc.get("capture", "").split(" ")
        if len(order) != 4 or order[0] == self.taken:
            self.settle()
            return {}
        self.taken, self.capture = order[0], int(order[2])
        self.settle(is_cut=True)
        begin = time.time_ns()
        time.sleep(float(order[3]))
        self.capture, end = 0, time.time_ns()
        self.settle(is_cut=True)  # what was sampled is at the server when this is told
        return {"capture": self.taken, "from": begin, "until": end}


_control = _Control()


def start(provider, **profiler):
    """pyroscope.configure with its own options and the provider's tags, and then what the server says. Settings are
    SPANFLAME_PROFILING_*, named as in Spanflame's docs/configuration.md."""
    _control.start(provider, profiler)


def stop():
    """Sends what there is."""
    _control.is_stopped = True
    _control.settle()


def handle(method):
    """(status, body) for an endpoint of your own: GET says whether profiling is on, POST and DELETE switch it until the next
    change at the server."""
    if method not in ("GET", "POST", "DELETE"):
        return 405, ""
    if method != "GET":
        _control.own = method == "POST"
        _control.settle()
    return 200, json.dumps({"enabled": _control.is_enabled(), "rate": _control.rate})

"""profile_oracle.py - profiles of known content, and whether a server has each of them exactly once.

Every profile has a leaf function of its own, so one examine a service's flame graph tells which profiles are in it
and how often: the values of their stacks are what was sent, a multiple of it, or nothing.
"""
import gzip
import json
import time
import urllib.parse

from support import server_rig as rig

UNIT = 10_000_000


def _number(number, value):
    return rig._varint(number << 3) + rig._varint(value)  # pylint: disable=protected-access


def _field(number, content):
    return rig._field(number, content)  # pylint: disable=protected-access


class Profile:
    """Two stacks with a leaf of their own, tagged with a span of their own."""
    __slots__ = ("service", "leaf", "values", "span", "when")

    def __init__(self, rng, service, leaf):
        self.service, self.leaf = service, leaf
        self.values = {"work": rng.randint(1, 1000) * UNIT, "wait": rng.randint(1, 1000) * UNIT}
        self.span = (rng.getrandbits(64) | 1).to_bytes(8, "big").hex()
        self.when = time.time_ns() - 1_000_000_000

    def lines(self):
        return {f"main;{middle};{self.leaf}": value for middle, value in self.values.items()}

    def body(self):
        """gzip pprof."""
        strings = ["", "cpu", "nanoseconds", "span_id", self.span, "main", "work", "wait", self.leaf]
        functions = strings[5:]
        out = _field(1, _number(1, 1) + _number(2, 2))
        for middle, value in self.values.items():
            ids = [functions.index(name) + 1 for name in (self.leaf, middle, "main")]
            out += _field(2, _field(1, bytes(ids)) + _number(2, value) + _field(3, _number(1, 3) + _number(2, 4)))
        for i in range(len(functions)):
            out += _field(4, _number(1, i + 1) + _field(4, _number(1, i + 1) + _number(2, 7)))
            out += _field(5, _number(1, i + 1) + _number(2, 5 + i))
        out += b"".join(_field(6, s.encode()) for s in strings)
        out += _number(9, self.when) + _number(10, 1_000_000_000)
        out += _field(11, _number(1, 1) + _number(2, 2)) + _number(12, UNIT)
        return gzip.compress(out, 1)


def post(client, profile, body):
    """True: acknowledged. False: refused, send it again."""
    path = f"/ingest?name={profile.service}&format=pprof&from={profile.when}&until={profile.when + 1_000_000_000}"
    status, _, answer = client.call("POST", path, body, {"Content-Type": "application/octet-stream"})
    if status in (429, 503):
        return False
    if status != 200:
        raise AssertionError(f"POST /ingest: {status} {answer[:200]!r}")
    return True


def folded(client, **parameters):
    """{path: value}; {} when the server knows nothing of the kind."""
    now = int(time.time())
    parameters = {"type": "cpu", "format": "folded", "from": now - 7200, "until": now + 3600} | parameters
    status, _, answer = client.call("GET", "/api/v1/profile?" + urllib.parse.urlencode(parameters))
    if status == 404:
        return {}
    if status != 200:
        raise AssertionError(f"GET /api/v1/profile {parameters}: {status} {answer[:200]!r}")
    found = {}
    for line in answer.decode().splitlines():
        path, _, value = line.rpartition(" ")
        found[path] = found.get(path, 0) + int(value)
    return found


def sums_of_services(client):
    """{service: what its CPU profiles of the last two hours add up to}"""
    now = int(time.time())
    ask = {"profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "labelSelector": "{}", "groupBy": ["service_name"],
           "start": (now - 7200) * 1000, "end": (now + 3600) * 1000, "step": 10800}
    status, _, answer = client.call("POST", "/querier.v1.QuerierService/SelectSeries", json.dumps(ask),
                                    {"Content-Type": "application/json"})
    if status != 200:
        raise AssertionError(f"SelectSeries: {status} {answer[:200]!r}")
    return {s["labels"][0]["value"]: sum(int(p["value"]) for p in s["points"]) for s in json.loads(answer).get("series", [])}


def faults_of_service(client, service, profiles):
    """Sentences on acknowledged profiles that are missing, doubled or changed."""
    found = folded(client, service=service)
    faults = []
    for p in profiles:
        for path, value in p.lines().items():
            if found.get(path) != value:
                faults.append(f"profile {p.leaf} of {service}: {path} is {found.get(path)}, {value} was acknowledged")
    return faults


def faults_of_spans(client, profiles):
    faults = []
    for p in profiles:
        found = folded(client, service=p.service, span_id=p.span)
        if found != p.lines():
            faults.append(f"span {p.span} of {p.service}: {found}, {p.lines()} was acknowledged")
    return faults

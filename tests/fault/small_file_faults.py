#!/usr/bin/env python3
"""small_file_faults - what people keep beside the data, on a disk that fails.

Deploys, silences, pins, documents of collectors, settings, recording rules, ad hoc profiles: a change that is answered with an error
has not happened. Nobody sees it, not in memory before a restart and not on the disk after it.
"""
import base64
import errno
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import server_rig as rig  # noqa: E402
from support.fault_house import House, run_parts  # noqa: E402
from support.faultfs import faultfs  # noqa: E402

JSON = {"Content-Type": "application/json"}
CPU = '{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds"}'
MATCHERS = [{"name": "alertname", "value": "x"}]


class Thing:
    """A list that people change: how to read it, and changes as functions of what was read."""

    def __init__(self, name, read, *changes):
        self.name, self.read, self.changes = name, read, changes


def settings(method):
    return "/settings.v1.SettingsService/" + method


def rules(method):
    return f"/settings.v1.RecordingRulesService/{method}"


def adhoc(method):
    return "/adhocprofiles.v1.AdHocProfileService/" + method


def things(trace):
    """Each change is (method, path, body); the first makes what the others change."""
    pin = f"/api/v1/pins/{trace}"
    return [
        Thing("deploys", ("GET", "/api/v1/deploys", None),
              lambda _: ("POST", "/api/v1/deploys", {"service": "shop", "version": "2"})),
        Thing("silences", ("GET", "/api/v1/silences", None),
              lambda _: ("POST", "/api/v1/silences", {"matchers": MATCHERS, "duration": "2h"}),
              lambda now: ("DELETE", "/api/v1/silences/" + now[0]["id"], None)),
        Thing("pins", ("GET", "/api/v1/pins", None),
              lambda _: ("POST", pin + "?for=1d&note=evidence", None),
              lambda _: ("POST", pin + "?for=9d&note=other", None),
              lambda _: ("DELETE", pin, None)),
        Thing("documents", ("GET", "/api/v1/profiling?service=shop", None),
              lambda _: ("PUT", "/api/v1/profiling?service=shop", {"enabled": False}),
              lambda _: ("POST", "/api/v1/profiling?service=shop", {"enabled": True}),
              lambda _: ("DELETE", "/api/v1/profiling?service=shop", None)),
        Thing("settings", ("POST", settings("Get"), {}),
              lambda _: ("POST", settings("Set"), {"setting": {"name": "theme", "value": "dark"}}),
              lambda _: ("POST", settings("Set"), {"setting": {"name": "theme", "value": "light"}}),
              lambda _: ("POST", settings("Delete"), {"name": "theme"})),
        Thing("recording rules", ("POST", rules("ListRecordingRules"), {}),
              lambda _: ("POST", rules("UpsertRecordingRule"), {"id": "mine", "metricName": "profiles_recorded_a", "matchers": [CPU]}),
              lambda now: ("POST", rules("UpsertRecordingRule"),
                           {"id": "mine", "metricName": "profiles_recorded_b", "matchers": [CPU], "generation": now["rules"][0]["generation"]}),
              lambda _: ("POST", rules("DeleteRecordingRule"), {"id": "mine"})),
        Thing("ad hoc profiles", ("POST", adhoc("List"), {}),
              lambda _: ("POST", adhoc("Upload"), {"name": "a.txt", "profile": base64.b64encode(b"main;work 3\n").decode()})),
    ]


def ask(house, method, path, body):
    client = house.server.client()
    status, _, answer = client.call(method, path, json.dumps(body) if body is not None else None, JSON)
    client.close()
    return status, answer


def look(house, thing):
    status, answer = ask(house, *thing.read)
    if status != 200:
        raise AssertionError(f"{thing.name}: {status} {answer[:200]!r}")
    return json.loads(answer)


def small_files(tap, rng):
    """Every change once on a disk that fails, which changes nothing, and once on one that does not."""
    house = House(rng, "small")
    try:
        tap.check(house.server.start(), "small files: starts", house.server.log_tail())
        house.fill(1)
        all_things = things(house.acked[0][0].trace.hex())
        for n in range(max(len(t.changes) for t in all_things)):
            turn = [t for t in all_things if n < len(t.changes)]
            before, refused = {}, {}
            for t in turn:
                before[t.name] = look(house, t)
            house.control.arm(faultfs.OPEN | faultfs.WRITE | faultfs.RENAME, error=errno.EIO, path=house.data)
            for t in turn:
                refused[t.name] = ask(house, *t.changes[n](before[t.name]))
            house.control.disarm()
            bad = {name: answer for name, answer in refused.items() if answer[0] < 500}
            tap.check(not bad, f"small files, change {n + 1}: a disk that fails is an error", str(bad))
            seen = {t.name: look(house, t) for t in turn}
            wrong = [f"{t.name}: {before[t.name]} has become {seen[t.name]}" for t in turn if seen[t.name] != before[t.name]]
            tap.check(not wrong, f"small files, change {n + 1}: what was refused is nowhere", "\n".join(wrong))
            house.server.kill()
            tap.check(house.server.start(), f"small files, change {n + 1}: starts again", house.server.log_tail())
            house.until_ready(200, 60)
            seen = {t.name: look(house, t) for t in turn}
            wrong = [f"{t.name}: {before[t.name]} has become {seen[t.name]}" for t in turn if seen[t.name] != before[t.name]]
            tap.check(not wrong, f"small files, change {n + 1}: nor after a restart", "\n".join(wrong))
            taken = {t.name: ask(house, *t.changes[n](seen[t.name])) for t in turn}
            bad = {name: answer for name, answer in taken.items() if answer[0] != 200}
            same = [t.name for t in turn if look(house, t) == before[t.name]]
            tap.check(not bad and not same, f"small files, change {n + 1}: on a disk that works it is taken", f"{bad} {same}")
    finally:
        house.close()


if __name__ == "__main__":
    sys.exit(run_parts({"small": small_files}))

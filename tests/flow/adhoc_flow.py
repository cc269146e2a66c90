#!/usr/bin/env python3
"""Profiles that somebody uploads to look at, as Profiles Drilldown does: upload, get, list, compare."""
import base64
import gzip
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, Server, field, tap  # noqa: E402

server = Server(config="tenancy:\n  enabled: true\n").start()
SERVICE = "/adhocprofiles.v1.AdHocProfileService/"
FOLDED = b"main;work 3\nmain;idle 1\n"


def call(method, body, status=200, tenant="a"):
    answer = server.post(SERVICE + method, json.dumps(body), JSON, headers={"X-Scope-OrgID": tenant})
    assert answer.status == status and answer.getheader("content-type") == JSON, (method, answer.status, answer.text)
    return json.loads(answer.body)


def upload(name, file, **more):
    return call("Upload", dict({"name": name, "profile": base64.b64encode(file).decode()}, **more))


def bars(told):
    """{name: total} of the flame graph in an answer"""
    flame = json.loads(told["flamebearerProfile"])["flamebearer"]
    return {flame["names"][level[i + 3]]: level[i + 1] for level in flame["levels"] for i in range(0, len(level), 4)}


def test_what_is_uploaded_is_drawn_kept_and_listed():
    told = upload("my profile (1).pprof", pprof({"main;slow": 20, "main;fast": 10}))
    assert told["name"] == "my_profile__1_.pprof" and told["id"].endswith("-" + told["name"]), told
    assert told["profileType"] == "cpu" and told["profileTypes"] == ["cpu"], told
    assert bars(told) == {"total": 30, "main": 30, "slow": 20, "fast": 10}
    profile = json.loads(told["flamebearerProfile"])
    assert profile["version"] == 1 and profile["metadata"]["format"] == "single" and profile["timeline"] is None
    again = call("Get", {"id": told["id"]})
    assert again == told
    assert call("Get", {"id": told["id"], "profile_type": "nothing of it", "maxNodes": 2})["profileType"] == "cpu"
    second = upload("b", FOLDED)
    listed = call("List", {})["profiles"]
    assert [p["id"] for p in listed] == [second["id"], told["id"]], listed
    assert listed[1] == {k: told[k] for k in ("id", "name", "uploadedAt")}
    assert call("List", {}, tenant="b") == {}
    assert call("Get", {"id": told["id"]}, 404, tenant="b")["code"] == "not_found"
    server.stop()
    server.start()
    assert call("Get", {"id": told["id"]}) == told


def test_every_format_is_told_by_its_content():
    perf = b"app 7/7 1.5: 250000 cpu-clock: \n\t4010 work (/bin/app)\n\t4000 main (/bin/app)\n\n"
    flame = json.loads(upload("x", FOLDED)["flamebearerProfile"])
    for name, file, want in (("a.collapsed", FOLDED, "work"), ("a.txt", perf, "work"), ("a", gzip.compress(FOLDED), "work"),
                             ("a.json", json.dumps(flame).encode(), "work"), ("a", pprof({"main;work": 5}), "work")):
        told = upload(name, file)
        assert want in bars(told), (name, told)
    # What was given out is the same when it comes back.
    assert bars(upload("a.json", json.dumps(flame).encode())) == bars(upload("a", FOLDED))


def test_two_are_compared_by_what_both_have():
    left, right = upload("l", pprof({"main;slow": 20, "main;fast": 10})), upload("r", pprof({"main;slow": 50}))
    told = call("Diff", {"leftId": left["id"], "rightId": right["id"]})
    assert told["profileTypes"] == ["cpu"], told
    profile = json.loads(told["flamebearerProfile"])
    assert profile["metadata"]["format"] == "double" and (profile["leftTicks"], profile["rightTicks"]) == (30, 50), profile
    heap = upload("h", b"heap profile: 13: 1595680 [47: 25845000] @ heap_v2/524288\n 1: 100 [2: 200] @ 0x1\n")
    told = call("Diff", {"leftId": left["id"], "rightId": heap["id"]}, 400)
    assert told["code"] == "invalid_argument" and "no common profile types between left (cpu) and right (" in told["message"], told
    told = call("Diff", {"leftId": left["id"], "rightId": right["id"], "profileType": "wall"}, 400)
    assert "profile type mismatch" in told["message"], told
    told = call("Diff", {"leftId": left["id"], "rightId": "01ARZ3NDEKTSV4RRFFQ69G5FAV-x"}, 404)
    assert told["message"].startswith("right: profile"), told


def test_mistakes_are_told():
    good = upload("g", FOLDED)["id"]
    for method, body, status, word in (
            ("Get", {"id": "../settings"}, 400, "can only contain"), ("Get", {"id": "a"}, 404, "not found"), ("Get", {}, 404, "not found"),
            ("Get", {"id": good, "maxNodes": -1}, 400, "max_nodes"), ("Upload", {"name": "x"}, 400, "profile is missing"),
            ("Upload", {"name": "x", "profile": "!!"}, 400, "base64"),
            ("Upload", {"name": "x", "profile": base64.b64encode(b"\0\1\2nothing").decode()}, 400, "failed to parse profile"),
            ("Upload", {"name": "x", "profile": base64.b64encode(b"{}").decode()}, 400, "failed to parse profile")):
        told = call(method, body, status)
        assert word in told["message"], (method, body, told)
    answer = server.post(SERVICE + "Upload", json.dumps({"name": "x", "profile": "QUFB"}), JSON, headers={"X-Scope-OrgID": "a|b"})
    assert answer.status in (400, 401, 403), answer.text
    largest = FOLDED + b"\n" * ((16 << 20) - len(FOLDED))
    call("Upload", {"name": "x", "profile": base64.b64encode(largest).decode()})
    large = call("Upload", {"name": "x", "profile": base64.b64encode(largest + b"\n").decode()}, 400)
    assert "exceeds limit" in large["message"], large


def test_nothing_secret_reaches_the_disk():
    secret = b"ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    told = upload("x ghp_abcdefghijklmnopqrstuvwxyz0123456789.txt", b"main;GET /x?token=" + secret + b" 3\n")
    assert secret.decode() not in json.dumps(told) and "REDACTED" in told["flamebearerProfile"], told
    assert call("Get", {"id": told["id"]}) == told
    folder = os.path.join(server.home, "data", "adhoc")
    assert any(name.endswith(told["id"]) for name in os.listdir(folder)), os.listdir(folder)
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            assert f.readline() == b"spanflame ad hoc profile 1\n" and "ghp_" not in name


def test_it_is_there_in_protobuf_and_grpc_too():
    body = field(1, "p") + field(2, base64.b64encode(FOLDED).decode())
    headers = {"X-Scope-OrgID": "a"}
    answer = server.post(SERVICE + "Upload", body, "application/proto", headers=headers)
    assert answer.status == 200 and b"flamebearer" in answer.body, answer.body
    answer = server.post(SERVICE + "List", b"", "application/proto", headers=headers)
    assert answer.status == 200 and b"-p" in answer.body


def test_older_ones_make_room():
    ids = [call("Upload", {"name": str(n), "profile": base64.b64encode(b"f %d\n" % (n + 1)).decode()}, tenant="many")["id"]
           for n in range(203)]
    listed = [p["id"] for p in call("List", {}, tenant="many")["profiles"]]
    assert len(listed) == 200 and ids[-1] in listed and not set(ids[:2]) & set(listed), len(listed)
    assert len(call("List", {})["profiles"]) > 5  # of another tenant


# ---- erasing and retention ----

def erase(of=server, tenant="gone", **what):
    answer = of.post("/api/v1/erase", json.dumps(what), JSON, headers={"X-Scope-OrgID": tenant})
    assert answer.status == 200, answer.text
    return json.loads(answer.body)


def ids(tenant="gone"):
    return [p["id"] for p in call("List", {}, tenant=tenant).get("profiles", [])]


def test_erasing_all_of_a_tenant_takes_its_uploads():
    body = {"name": "x", "profile": base64.b64encode(FOLDED).decode()}
    first = call("Upload", body, tenant="gone")
    others = ids("a")
    for what in ({"service": "shop"}, {"traces": ["1"]}):
        assert "adhocProfiles" not in erase(**what) and ids() == [first["id"]]
    at_s = int(first["uploadedAt"]) / 1000
    assert erase(all=True, until=at_s - 60)["adhocProfiles"] == 0
    assert erase(all=True, dry_run=True)["adhocProfiles"] == 1 and ids() == [first["id"]]
    assert erase(all=True, **{"from": at_s - 60, "until": at_s + 60})["adhocProfiles"] == 1
    assert not ids() and ids("a") == others
    call("Get", {"id": first["id"]}, 404, tenant="gone")
    call("Upload", body, tenant="gone")
    assert erase(all=True)["adhocProfiles"] == 1
    server.stop()
    server.start()
    assert not ids() and ids("a") == others
    assert not [n for n in os.listdir(os.path.join(server.data, "adhoc")) if n.startswith("gone@")]


def older(name, hours):
    """The name of the same upload, that many hours earlier."""
    tenant, name = name.split("@")
    at_ms = 0
    for c in name[:10]:
        at_ms = at_ms << 5 | DIGITS.index(c)
    at_ms -= int(hours * 3600000)
    return f"{tenant}@" + "".join(DIGITS[at_ms >> 5 * (9 - i) & 31] for i in range(10)) + name[10:]


DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def test_retention_takes_uploads_by_age_and_by_size():
    with Server(config="retention:\n  profiles: 24h\n  full_resolution: 1h\n") as s:
        for name in ("new", "late", "old", "cut"):
            answer = s.post(SERVICE + "Upload", json.dumps({"name": name, "profile": base64.b64encode(FOLDED).decode()}), JSON)
            assert answer.status == 200, answer.text
        s.stop()
        folder = os.path.join(s.data, "adhoc")
        by_name = {n.rsplit("-", 1)[1]: n for n in os.listdir(folder)}
        for name, hours in (("late", 23), ("old", 25)):
            os.rename(os.path.join(folder, by_name[name]), os.path.join(folder, older(by_name[name], hours)))
        cut = older(by_name["cut"], 25).split("@")[1][:26] + ".new"  # an upload that a crash cut short
        os.rename(os.path.join(folder, by_name["cut"]), os.path.join(folder, cut))
        s.start()
        wait_for(lambda: sorted(n.rsplit("-", 1)[-1] for n in os.listdir(folder)) == ["late", "new"], folder)
        s.stop()
        # The log alone is larger than this: all uploads go, the oldest first.
        s.config = "retention:\n  profiles: 24h\n  full_resolution: 1h\n  max_bytes: 1KB\n"
        s.start()
        wait_for(lambda: not os.listdir(folder), folder)
        answer = s.post(SERVICE + "List", b"{}", JSON)
        assert answer.status == 200 and json.loads(answer.body) == {}, answer.text


def wait_for(is_so, folder):
    for _ in range(300):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError(os.listdir(folder))


tap.run(sys.modules[__name__])

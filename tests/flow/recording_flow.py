#!/usr/bin/env python3
"""Recording rules: metrics that are made of profiles, as Profiles Drilldown writes them and Prometheus reads them."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, Server, field, tap  # noqa: E402

SERVICE = "/settings.v1.RecordingRulesService/"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
CONFIG = "tenancy:\n  enabled: true\nmetrics:\n  recording_rules: {interval: 200ms}\n"
server = Server(config=CONFIG).start()
SHOP = ['{ service_name="shop" }', '{ __profile_type__="%s"}' % CPU]  # blanks as the app sends them


def call(method, body, status=200, tenant="a"):
    answer = server.post(SERVICE + method, json.dumps(body), JSON, headers={"X-Scope-OrgID": tenant})
    assert answer.status == status and answer.getheader("content-type") == JSON, (method, body, answer.status, answer.text)
    return json.loads(answer.body)


def upsert(name="profiles_recorded_cpu", matchers=SHOP, groups=(), tenant="a", **more):
    return call("UpsertRecordingRule", dict({"metricName": name, "matchers": list(matchers), "groupBy": list(groups)}, **more),
                tenant=tenant)["rule"]


def send(stacks, service="shop", env="prod", tenant="a", ago_s=0.0):
    at_s = time.time() - ago_s
    answer = server.post(f"/ingest?name={service}{{env={env}}}&format=pprof", pprof(stacks, when=int(at_s * 1e9)),
                         headers={"X-Scope-OrgID": tenant})
    assert answer.status == 200, answer.text


def series(name, of=None):
    """{labels without the rule's id: value} of a metric"""
    found = {}
    for line in (of or server).get("/metrics").text.splitlines():
        match = re.match(re.escape(name) + r"\{(.*)\} (\d+)$", line)
        if match:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match[1]))
            assert labels.pop("profiles_rule_id"), line
            found[tuple(sorted(labels.items()))] = int(match[2])
    return found


def wait_for(name, want):
    for _ in range(100):
        if series(name) == want:
            return
        time.sleep(0.1)
    raise AssertionError((name, series(name), want, server.log()[-2000:]))


def test_a_rule_is_kept_changed_and_deleted():
    rule = upsert("profiles_recorded_kept", groups=["env"], externalLabels=[{"name": "team", "value": "x"}])
    assert re.fullmatch("[a-zA-Z]{10}", rule["id"]) and rule["generation"] == "1", rule
    assert rule["matchers"] == SHOP and rule["groupBy"] == ["env"] and rule["profileType"] == CPU, rule
    assert call("GetRecordingRule", {"id": rule["id"]})["rule"] == rule
    assert rule in call("ListRecordingRules", {})["rules"] and call("ListRecordingRules", {}, tenant="b") == {}
    call("GetRecordingRule", {"id": rule["id"]}, 404, tenant="b")
    ask = {k: rule[k] for k in ("id", "metricName", "matchers", "groupBy", "externalLabels")}
    second = call("UpsertRecordingRule", dict(ask, generation="1"))["rule"]
    assert second["generation"] == "2"
    told = call("UpsertRecordingRule", dict(ask, generation=1), 409)
    assert told == {"code": "already_exists", "message": "conflicting update, please try again"}, told
    server.stop()
    server.start()
    assert call("GetRecordingRule", {"id": rule["id"]})["rule"] == second
    assert call("DeleteRecordingRule", {"id": rule["id"]}) == {}
    told = call("DeleteRecordingRule", {"id": rule["id"]}, 404)
    assert told["message"] == f"no rule with id='{rule['id']}' found", told
    named = upsert(id="MyRule")
    assert named["id"] == "MyRule" and named["generation"] == "1"
    call("DeleteRecordingRule", {"id": "MyRule"})


def test_mistakes_are_told_together():
    for body, words in (
            ({}, ["invalid metric name", "no __profile_type__ matcher"]),
            ({"metricName": "cpu", "matchers": SHOP}, ["metric name must start with profiles_recorded_"]),
            ({"metricName": "profiles_recorded_x-y", "matchers": SHOP}, ["invalid metric name: profiles_recorded_x-y"]),
            ({"metricName": "profiles_recorded_x", "matchers": ["{a="]}, ["failed to parse matchers", "matcher 1"]),
            ({"metricName": "profiles_recorded_x", "matchers": [""]}, ["failed to parse matchers"]),
            ({"metricName": "profiles_recorded_x", "matchers": SHOP + ['{a=~"("}']}, ["failed to parse matchers"]),
            ({"metricName": "profiles_recorded_x", "matchers": SHOP + SHOP}, ["more than one __profile_type__"]),
            ({"metricName": "profiles_recorded_x", "matchers": ['{__profile_type__=~"a"}']}, ["not an equality"]),
            ({"metricName": "profiles_recorded_x", "matchers": SHOP, "groupBy": ["a.b", "1"], "id": "a1", "generation": -1},
             ["a.b", '"1"', "id", "generation"]),
            ({"metricName": "profiles_recorded_x", "matchers": SHOP, "externalLabels": [{"name": "a-b", "value": "x"}]}, ["a-b"]),
            ({"metricName": "profiles_recorded_x", "matchers": SHOP * 20}, ["more than 32 matchers"]),
            ({"metricName": "profiles_recorded_x", "matchers": SHOP,
              "stacktraceFilter": {"functionName": {"functionName": "f", "metricType": "SELF"}}}, ["metric_type SELF"])):
        told = call("UpsertRecordingRule", body, 400)
        assert told["code"] == "invalid_argument" and told["message"].startswith("invalid request: "), told
        assert all(w in told["message"] for w in words), (words, told)
    for method in ("GetRecordingRule", "DeleteRecordingRule"):
        assert call(method, {"id": " "}, 400)["message"] == "id is required"
        assert call(method, {"id": "nobody"}, 404)["code"] == "not_found"
    assert call("ListRecordingRules", {}) == {}


def test_a_tenant_has_25_rules():
    ids = [upsert(tenant="many")["id"] for _ in range(25)]
    told = call("UpsertRecordingRule", {"metricName": "profiles_recorded_cpu", "matchers": SHOP}, 429, tenant="many")
    assert told == {"code": "resource_exhausted", "message": "recording rules limit (25) exceeded for this tenant"}, told
    assert upsert(id=ids[0], generation=1, tenant="many")["generation"] == "2"  # those that are there may change
    for rule in ids:
        call("DeleteRecordingRule", {"id": rule}, tenant="many")


def test_it_is_there_in_protobuf_and_grpc_too():
    body = field(2, "profiles_recorded_pb") + b"".join(field(3, m) for m in SHOP) + field(4, "env") + field(
        5, field(1, "team") + field(2, "x")) + field(7, field(1, field(1, "slow")))
    assert server.grpc(SERVICE + "UpsertRecordingRule", body, ["X-Scope-OrgID: pb"])[0] == 0
    answer = server.post(SERVICE + "ListRecordingRules", b"", "application/proto", headers={"X-Scope-OrgID": "pb"})
    rule, = call("ListRecordingRules", {}, tenant="pb")["rules"]
    assert answer.status == 200 and rule["id"].encode() in answer.body and CPU.encode() in answer.body
    assert rule["groupBy"] == ["env"] and rule["externalLabels"] == [{"name": "team", "value": "x"}], rule
    assert rule["stacktraceFilter"] == {"functionName": {"functionName": "slow"}}, rule
    call("DeleteRecordingRule", {"id": rule["id"]}, tenant="pb")


def test_rules_make_series():
    upsert("profiles_recorded_by_env", groups=["env", "nothing"], externalLabels=[
        {"name": "team", "value": "x"}, {"name": "tenant", "value": "b"}, {"name": "__name__", "value": "y"},
        {"name": "profiles_rule_id", "value": "z"}, {"name": "env", "value": "never"}])
    upsert("profiles_recorded_slow", stacktraceFilter={"functionName": {"functionName": "slow", "metricType": "TOTAL"}})
    upsert("profiles_recorded_all", ['{__profile_type__="%s"}' % CPU])
    upsert("profiles_recorded_all", ['{__profile_type__="%s"}' % CPU], tenant="b")
    send({"main;slow": 30, "main;slow;slow": 4, "main;fast": 10})
    send({"main;fast": 7}, env="test")
    send({"main;slow": 100}, service="other")
    send({"main;slow": 1000}, tenant="b")
    a = ("tenant", "a")
    by_env = {tuple(sorted([("env", e), ("team", "x"), a])): v for e, v in (("prod", 44), ("test", 7))}
    wait_for("profiles_recorded_by_env", by_env)
    wait_for("profiles_recorded_slow", {(a,): 34})
    wait_for("profiles_recorded_all", {(a,): 151, (("tenant", "b"),): 1000})
    text = server.get("/metrics").text
    assert text.count("# TYPE profiles_recorded_all counter") == 1, text
    assert "# TYPE profiles_recorded_all unknown" in server.get("/metrics", {"Accept": "application/openmetrics-text"}).text
    # A profile from before the rule, or of another time than now, is not counted twice or at all.
    send({"main;slow": 5000}, ago_s=3600)
    send({"main;slow": 1})
    wait_for("profiles_recorded_slow", {(a,): 35})


def test_sums_survive_a_stop_a_kill_and_the_loss_of_their_file():
    a = ("tenant", "a")
    for end in (server.stop, server.kill):
        before = series("profiles_recorded_slow")[(a,)]
        end()
        server.start()
        wait_for("profiles_recorded_slow", {(a,): before})
        send({"main;slow": 2})
        wait_for("profiles_recorded_slow", {(a,): before + 2})
    before = series("profiles_recorded_slow")
    server.stop()
    with open(os.path.join(server.data, "rule_totals"), "w", encoding="utf-8") as f:
        f.write("nonsense\n")
    server.start()
    assert "made anew from the store" in server.log(), server.log()[-500:]
    wait_for("profiles_recorded_slow", before)


def test_a_counter_does_not_fall_when_profiles_are_erased():
    before = series("profiles_recorded_slow")
    answer = server.post("/api/v1/erase", b'{"service": "shop"}', JSON, headers={"X-Scope-OrgID": "a"})
    assert answer.status == 200, answer.text
    time.sleep(1)
    assert series("profiles_recorded_slow") == before


def test_a_changed_rule_begins_anew_and_a_deleted_one_is_gone():
    rule = next(r for r in call("ListRecordingRules", {})["rules"] if r["metricName"] == "profiles_recorded_by_env")
    ask = {k: rule[k] for k in ("id", "matchers", "groupBy", "generation")}
    before = sorted(series("profiles_recorded_by_env").values())
    rule = call("UpsertRecordingRule", dict(ask, metricName="profiles_recorded_renamed"))["rule"]
    assert sorted(series("profiles_recorded_renamed").values()) == before and not series("profiles_recorded_by_env")
    call("UpsertRecordingRule", dict(ask, metricName="profiles_recorded_renamed", groupBy=[], generation=rule["generation"]))
    send({"main;fast": 3})
    wait_for("profiles_recorded_renamed", {(("tenant", "a"),): 3})
    call("DeleteRecordingRule", {"id": rule["id"]})
    assert not series("profiles_recorded_renamed")


def test_without_tenancy_there_is_no_label_of_tenants():
    with Server(config=CONFIG.replace("true", "false")) as s:
        answer = s.post(SERVICE + "UpsertRecordingRule", json.dumps({"metricName": "profiles_recorded_x", "matchers": SHOP}), JSON)
        assert answer.status == 200, answer.text
        assert s.post("/ingest?name=shop&format=pprof", pprof({"a": 5}, when=time.time_ns())).status == 200
        for _ in range(100):
            if series("profiles_recorded_x", s) == {(): 5}:
                return
            time.sleep(0.1)
        raise AssertionError(series("profiles_recorded_x", s))


tap.run(sys.modules[__name__])

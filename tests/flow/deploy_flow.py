#!/usr/bin/env python3
"""The files of deploy/ that other programs read: whole YAML, and what they point at is there."""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

try:
    import yaml
except ImportError:
    print("1..0 # SKIP there is no python3-yaml here")
    sys.exit(0)

DEPLOY = os.path.join(os.environ["SOURCE_ROOT"], "deploy")
MS = 1000000


class Once(yaml.SafeLoader):
    """A key said twice is a mistake nobody notices."""


def mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    assert len(keys) == len(set(keys)), keys
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


Once.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, lambda loader, node: mapping(loader, node, True))


def read(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as f:
        return yaml.load(f, Once)


def test_the_systemd_unit_is_understood_and_leaves_little():
    if not shutil.which("systemd-analyze"):
        raise tap.Skip("there is no systemd-analyze")
    unit = os.path.join(DEPLOY, "spanflame.service")
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False, timeout=60)
    wrong = [line for line in (said.stdout + said.stderr).splitlines() if "Unknown" in line or "ignoring" in line]
    assert not wrong, wrong
    said = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True,
                          check=False, timeout=60)
    if "unrecognized option" in said.stderr:
        raise tap.Skip("this systemd-analyze knows no --offline")
    assert said.returncode == 0, said.stdout.splitlines()[-1:]  # 2.0 of 10 is the most


def status_of(server, word):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return next(line.split()[1] for line in f if line.startswith(word + ":"))


def test_the_server_locks_itself_in():
    with Server() as s:
        assert "server: sandbox: files " in s.log(), s.log()
        assert status_of(s, "NoNewPrivs") == "1"
        if "calls on (seccomp)" in s.log():
            assert status_of(s, "Seccomp") == "2"
    with Server("server:\n  sandbox: false\n") as s:
        assert "sandbox: off (server.sandbox)" in s.log() and status_of(s, "Seccomp") == "0"


def test_a_service_manager_is_told_when_the_server_is_ready_reloads_and_stops():
    """Type=notify: READY only once the store is open, RELOADING around a reload, STOPPING before what may take long."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("")  # the kernel chooses an abstract name
        manager.settimeout(60)
        name = "@" + manager.getsockname()[1:].decode("ascii")
        with Server(env={"NOTIFY_SOCKET": name}) as s:
            said = manager.recv(4096).decode()
            while "READY=1" not in said:  # opening takes longer than a second on a busy machine
                assert said.startswith("EXTEND_TIMEOUT_USEC="), said
                said = manager.recv(4096).decode()
            assert f"127.0.0.1:{s.port}" in said, said
            s.process.send_signal(signal.SIGHUP)
            assert manager.recv(4096).decode().startswith("RELOADING=1\nMONOTONIC_USEC=")
            assert manager.recv(4096).decode() == "READY=1"
            assert s.stop() == 0
            assert manager.recv(4096).decode().startswith("STOPPING=1")


def test_every_yaml_file_is_yaml():
    paths = glob.glob(os.path.join(DEPLOY, "**", "*.yaml"), recursive=True)
    assert len(paths) >= 4, paths
    for path in paths:
        with open(path, encoding="utf-8") as f:
            assert all(isinstance(document, dict) for document in yaml.load_all(f, Once)), path


def without_places(source):
    """A data source but for where it is and what opens it."""
    kept = {k: v for k, v in source.items() if k not in ("url", "secureJsonData")}
    kept["jsonData"] = {k: v for k, v in source["jsonData"].items() if k != "httpHeaderName1"}
    return kept


def test_compose_has_the_names_that_others_configurations_use():
    told = read("compose.yaml")["services"]
    assert {"tempo", "pyroscope"} <= set(told["spanflame"]["networks"]["default"]["aliases"])
    for name, service in told.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), (name, port)  # the server has no tokens here
        for volume in service.get("volumes", []):
            if volume.startswith("./"):
                assert os.path.exists(os.path.join(DEPLOY, volume.split(":")[0])), volume
        assert set(service.get("depends_on", [])) <= set(told), name
    ours = read("grafana", "provisioning", "datasources", "spanflame.yaml")["datasources"]
    theirs = read("compose", "datasources.yaml")["datasources"]
    assert [without_places(s) for s in ours] == [without_places(s) for s in theirs]
    assert [s["url"] for s in theirs] == ["http://tempo:3200", "http://pyroscope:4040", "http://prometheus:9090"]
    ours, theirs = read("collector", "traces-and-profiles.yaml"), read("compose", "collector.yaml")
    assert ours["service"] == theirs["service"] and set(ours["exporters"]) == set(theirs["exporters"])
    for name in ("prometheus.yml", "prometheus.tokens.yml"):
        assert read("compose", name)["scrape_configs"][0]["static_configs"] == [{"targets": ["spanflame:3200"]}]


def test_the_configurations_for_containers_are_valid():
    """Of the image, and of the ConfigMap, whose volumes are where its keys say."""
    with open(os.path.join(DEPLOY, "kubernetes", "spanflame.yaml"), encoding="utf-8") as f:
        config, service, state = yaml.load_all(f, Once)
    pod = state["spec"]["template"]["spec"]
    mounts = {m["mountPath"]: m["name"] for m in pod["containers"][0]["volumeMounts"]}
    volumes = {v["name"] for v in pod["volumes"]} | {v["metadata"]["name"] for v in state["spec"]["volumeClaimTemplates"]}
    assert set(mounts.values()) == volumes, mounts
    for at in ("/data", "/etc/spanflame-tokens"):
        assert at in mounts and at in config["data"]["spanflame.yaml"], at
    assert {p["port"] for p in service["spec"]["ports"]} == {p["containerPort"] for p in pod["containers"][0]["ports"]}
    assert service["spec"]["selector"].items() <= state["spec"]["template"]["metadata"]["labels"].items()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "map.yaml"), "w", encoding="utf-8") as f:
            f.write(config["data"]["spanflame.yaml"])
        for path in (os.path.join(folder, "map.yaml"), os.path.join(DEPLOY, "image", "spanflame.yaml")):
            done = subprocess.run([os.environ["SPANFLAME"], "check-config", "--config", path], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (path, done.stderr)


def test_the_examples_of_a_fleet_are_valid():
    """Nodes, shards and volumes name each other as they are."""
    with open(os.path.join(DEPLOY, "fleet", "kubernetes.yaml"), encoding="utf-8") as f:
        config, service, nodes, shards, clickhouse = yaml.load_all(f, Once)
    assert service["spec"]["selector"].items() <= nodes["spec"]["template"]["metadata"]["labels"].items()
    for state in (nodes, clickhouse):
        pod = state["spec"]["template"]["spec"]
        volumes = {v["name"] for v in pod["volumes"]} | {v["metadata"]["name"] for v in state["spec"]["volumeClaimTemplates"]}
        assert {m["name"] for m in pod["containers"][0]["volumeMounts"]} == volumes, state["metadata"]
    url = yaml.safe_load(config["data"]["spanflame.yaml"])["store"]["remote"]["url"]
    names = [f"clickhouse-{i}.{shards['metadata']['name']}:8123" for i in range(clickhouse["spec"]["replicas"])]
    assert url == "clickhouse://" + ",".join(names) + "/spanflame", url
    compose = read("fleet", "compose.yaml")
    ours = read("fleet", "spanflame.yaml")["store"]["remote"]["url"]
    assert ours == "clickhouse://ch1:8123,ch2:8123/spanflame" and {"ch1", "ch2", "one", "two"} == set(compose["services"])
    used = {v.split(":")[0] for s in compose["services"].values() for v in s["volumes"]}
    assert {v for v in used if not v.startswith("./")} == set(compose["volumes"])
    assert all(p.startswith("127.0.0.1:") for s in compose["services"].values() for p in s.get("ports", []))
    with tempfile.TemporaryDirectory() as folder:
        password = os.path.join(folder, "password")
        with open(password, "w", encoding="utf-8") as f:
            f.write("x\n")
        with open(os.path.join(DEPLOY, "fleet", "spanflame.yaml"), encoding="utf-8") as f:
            texts = [config["data"]["spanflame.yaml"], f.read()]
        for text in texts:
            path = os.path.join(folder, "map.yaml")
            for at in ("/etc/spanflame-clickhouse/password", "/run/secrets/clickhouse"):
                text = text.replace(at, password)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([os.environ["SPANFLAME"], "check-config", "--config", path], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (text, done.stderr)


def test_versions_in_examples_are_the_programs():
    with open(os.path.join(DEPLOY, "..", "meson.build"), encoding="utf-8") as f:
        version = next(line for line in f if "version: '" in line).split("'")[1]
    for path in ("compose.yaml", "kubernetes/spanflame.yaml", "fleet/compose.yaml", "fleet/kubernetes.yaml"):
        with open(os.path.join(DEPLOY, path), encoding="utf-8") as f:
            images = [line.split("localhost/spanflame:")[1] for line in f if "localhost/spanflame:" in line]
        assert images and all(i.startswith(version) for i in images), (path, images)


def test_the_sample_application_sends_from_four_services():
    with Server() as s:
        shop = subprocess.Popen([os.path.join(DEPLOY, "compose", "shop.sh")], start_new_session=True, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL,
                                env=dict(os.environ, SHOP_PROGRAMS=os.path.join(os.environ["BUILD_ROOT"], "demo"),
                                         OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{s.port}"))
        try:
            wanted, found = {"gateway", "order-service", "pricing", "inventory"}, set()
            while not wanted <= found:
                assert shop.poll() is None, "the shop ended"
                found = {row["service"] for row in s.json("/api/v1/services")["services"]}
                time.sleep(0.2)
        finally:
            os.killpg(shop.pid, signal.SIGTERM)
            shop.wait(60)


def test_grafanas_data_sources_point_at_each_other():
    told = read("grafana", "provisioning", "datasources", "spanflame.yaml")
    assert told["apiVersion"] == 1
    traces, profiles, _ = told["datasources"]  # and metrics: see dashboards_flow.py
    assert (traces["type"], profiles["type"]) == ("tempo", "grafana-pyroscope-datasource")
    assert all(s["access"] == "proxy" and s["url"].startswith("http://") and s["name"] and s["uid"] for s in (traces, profiles))
    link = traces["jsonData"]["tracesToProfiles"]
    assert link["datasourceUid"] == profiles["uid"], link
    assert link["tags"] == [{"key": "service.name", "value": "service_name"}], link
    assert link["customQuery"] is True and link["query"] == '{service_name="$${__span.tags["service.name"]}"}', link
    assert len(link["profileTypeId"].split(":")) == 5, link


def test_the_collectors_pipelines_have_their_parts():
    for name, signals in (("traces.yaml", {"traces"}), ("traces-and-profiles.yaml", {"traces", "profiles"})):
        told = read("collector", name)
        assert set(told["service"]["pipelines"]) == signals, told["service"]
        for pipeline in told["service"]["pipelines"].values():
            for kind in ("receivers", "processors", "exporters"):
                assert set(pipeline.get(kind, [])) <= set(told.get(kind, {})), (name, kind)
        assert all(e["endpoint"].endswith(":4317") for e in told["exporters"].values()), told["exporters"]
        assert all(e.split("/")[0] == "otlp_grpc" for e in told["exporters"]), told["exporters"]  # `otlp` is deprecated


def test_what_grafana_does_with_them_finds_the_profile_of_every_span():
    """From a span as Tempo's API gives it, through the tags and the query, to its flame graph; no SDK tagged the child."""
    told = read("grafana", "provisioning", "datasources", "spanflame.yaml")["datasources"][0]["jsonData"]["tracesToProfiles"]
    with Server() as server:
        root = make_span(ms=100, ago_ms=500, service="shop", name="GET /cart")
        child = dict(make_span(trace=root["trace_id"], parent=root["span_id"], ms=50, ago_ms=520, service="shop", name="pay"), kind=1)
        other = make_span(trace=root["trace_id"], parent=root["span_id"], ms=5, ago_ms=510, service="unprofiled", name="mail")
        server.send([root, child, other])
        stacks = {("main;work", (("span_id", root["span_id"].hex()),)): 80 * MS}
        assert server.post("/api/v1/profile?service=shop", pprof(stacks)).status == 200
        batches = server.json("/api/traces/" + root["trace_id"].hex())["batches"]
        found = {}
        for batch in batches:
            of_resource = {a["key"]: a["value"].get("stringValue") for a in batch["resource"]["attributes"]}
            for scope in batch["scopeSpans"]:
                for span in scope["spans"]:
                    tags = {**of_resource, **{a["key"]: a["value"].get("stringValue") for a in span.get("attributes", [])}}
                    # Grafana offers the link only where this tag is, and requests the id it holds.
                    found[span["name"]] = (tags.get("pyroscope.profile.id"),
                                           told["query"].replace("$$", "$").replace('${__span.tags["service.name"]}', tags["service.name"]))
        assert found["mail"][0] is None, found
        for name, want in (("GET /cart", 80 * MS), ("pay", 40 * MS)):
            profile_id, selector = found[name]
            assert selector == '{service_name="shop"}', selector
            now = int(time.time() * 1000)
            body = json.dumps({"profileTypeID": told["profileTypeId"], "labelSelector": selector, "spanSelector": [profile_id],
                               "start": now - 60000, "end": now + 60000})
            answer = server.post("/querier.v1.QuerierService/SelectMergeSpanProfile", body.encode(), "application/json")
            assert answer.status == 200 and int(json.loads(answer.body)["flamegraph"]["total"]) == want, (name, answer.text)
        query = urllib.parse.quote('{ span."pyroscope.profile.id" != nil }')
        assert server.json(f"/api/search?q={query}").get("traces", []) == []


tap.run(sys.modules[__name__])

#!/usr/bin/env python3
"""The examples for Kubernetes and compose and the bill of materials, read by programs that know their schemas; these come
from Python's package index."""
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["SOURCE_ROOT"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import tap  # noqa: E402
from live import run, skip  # noqa: E402

WANTED = ["kubernetes-validate==1.37.0", "podman-compose==1.6.0", "spdx-tools==0.8.5"]
FOLDER = tempfile.TemporaryDirectory(prefix="sf-schema.")
BIN = os.path.join(FOLDER.name, "bin")


def test_the_manifests_follow_the_schema_of_kubernetes():
    said = run(os.path.join(BIN, "kubernetes-validate"), "--strict", os.path.join(SOURCE, "deploy/kubernetes/spanflame.yaml"))
    assert said.count("passed") == 3 and "fail" not in said.lower(), said
    said = run(os.path.join(BIN, "kubernetes-validate"), "--strict", os.path.join(SOURCE, "deploy/fleet/kubernetes.yaml"))
    assert said.count("passed") == 5 and "fail" not in said.lower(), said


def test_a_wrong_manifest_is_noticed():
    with open(os.path.join(SOURCE, "deploy/kubernetes/spanflame.yaml"), encoding="utf-8") as f:
        wrong = f.read().replace("replicas: 1", "replica: 1")
    path = os.path.join(FOLDER.name, "wrong.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(wrong)
    done = subprocess.run([os.path.join(BIN, "kubernetes-validate"), "--strict", path], capture_output=True, check=False)
    assert done.returncode != 0


def test_compose_understands_all_files():
    env = dict(os.environ, SPANFLAME_TOKEN="x", PATH=BIN + ":" + os.environ["PATH"])
    base = os.path.join(SOURCE, "deploy", "compose.yaml")
    said = run(os.path.join(BIN, "podman-compose"), "-f", base, "config", env=env)
    assert "localhost/spanflame:" in said and "pyroscope" in said, said
    said = run(os.path.join(BIN, "podman-compose"), "-f", base, "-f", os.path.join(SOURCE, "deploy", "compose.tokens.yaml"), "config", env=env)
    assert "SPANFLAME_AUTH_TOKEN_FILE" in said, said
    said = run(os.path.join(BIN, "podman-compose"), "-f", os.path.join(SOURCE, "deploy", "fleet", "compose.yaml"), "config", env=env)
    assert said.count("localhost/spanflame:") == 2 and said.count("clickhouse/clickhouse-server:") == 2, said


def test_the_bill_of_materials_is_valid_spdx():
    path = os.path.join(FOLDER.name, "spanflame.spdx.json")
    run(os.path.join(SOURCE, "tools", "sbom.py"), "--build", os.environ["BUILD_ROOT"], "--out", path)
    run(os.path.join(BIN, "pyspdxtools"), "-i", path)
    with open(path, encoding="utf-8") as f:
        wrong = f.read().replace('"SPDXRef-curl"', '"curl"', 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(wrong)
    assert subprocess.run([os.path.join(BIN, "pyspdxtools"), "-i", path], capture_output=True, check=False).returncode != 0


try:
    subprocess.run([sys.executable, "-m", "venv", FOLDER.name], check=True, capture_output=True)
    subprocess.run([os.path.join(BIN, "pip"), "install", "-q", *WANTED], check=True, capture_output=True)
except (OSError, subprocess.CalledProcessError):
    skip("kubernetes-validate, podman-compose and spdx-tools cannot be installed here")
tap.run(sys.modules[__name__])

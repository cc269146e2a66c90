#!/usr/bin/env python3
"""The container image: made without a registry, run as its user, stopped in order; a volume keeps its data."""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["SOURCE_ROOT"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import tap  # noqa: E402
from live import call, free_port, names_of, run, send_span, skip, wait_ready  # noqa: E402

IMAGE = "localhost/spanflame:test"
VOLUME = f"spanflame-test-{os.getpid()}"
NAME = f"spanflame-test-{os.getpid()}"
PORT = free_port()
# runc where it is: crun refuses machines whose control groups are of both versions. The limits are below those of any host.
PODMAN = ["podman"] + (["--runtime", "runc"] if shutil.which("runc") else [])
LIMITS = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"]
KEPT = []


def start():
    run(*PODMAN, "run", "-d", "--name", NAME, "--network", "host", *LIMITS, "-v", f"{VOLUME}:/data", IMAGE,
        "serve", "--config", "/etc/spanflame/spanflame.yaml", "--listen", f"127.0.0.1:{PORT}")
    wait_ready(PORT, check_alive)


def check_alive():
    state = run(*PODMAN, "inspect", "-f", "{{.State.Status}}", NAME).strip()
    assert state in ("created", "running"), run(*PODMAN, "logs", NAME)


def stop():
    """It ends by itself after SIGTERM: what ends by SIGKILL has another code."""
    run(*PODMAN, "stop", "-t", "120", NAME)
    code = run(*PODMAN, "inspect", "-f", "{{.State.ExitCode}}", NAME).strip()
    run(*PODMAN, "rm", NAME)
    assert code == "0", code


def test_the_image_serves_as_a_user_without_rights():
    start()
    KEPT.append(send_span(PORT, "in a container"))
    assert names_of(PORT, KEPT[0]) == ["in a container"]
    assert b"<script" in call(PORT, "/").read()
    assert run(*PODMAN, "exec", NAME, "id", "-u").strip() == "10001"


def test_a_volume_keeps_the_data_over_containers():
    stop()
    start()
    assert names_of(PORT, KEPT[0]) == ["in a container"]
    stop()


def test_the_default_command_listens_for_other_containers():
    said = run(*PODMAN, "run", "--rm", *LIMITS, "--network", "none", IMAGE, "check-config", "--config", "/etc/spanflame/spanflame.yaml")
    assert "0.0.0.0:4317" in said and "allow_public_without_auth                true" in said, said


def test_the_image_names_its_version():
    said = run(*PODMAN, "image", "inspect", "-f", "{{.Config.Labels}}", IMAGE)
    with open(os.path.join(SOURCE, "meson.build"), encoding="utf-8") as f:
        assert next(line for line in f if "version: '" in line).split("'")[1] in said, said


def compose_room(folder):
    """podman-compose of the schema test's version, and a podman for it with a network that knows names."""
    try:
        run(sys.executable, "-m", "venv", folder)
        run(os.path.join(folder, "bin", "pip"), "install", "-q", "podman-compose==1.6.0")
    except (AssertionError, OSError):
        raise tap.Skip("podman-compose cannot be installed here") from None
    if not os.path.exists("/usr/lib/podman/aardvark-dns"):
        raise tap.Skip("names of containers need the package aardvark-dns")
    with open(os.path.join(folder, "containers.conf"), "w", encoding="ascii") as f:
        f.write('[network]\nnetwork_backend="netavark"\n')
    podman = os.path.join(folder, "podman")
    with open(podman, "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\nexport CONTAINERS_CONF={folder}/containers.conf\nexec {" ".join(PODMAN)} "$@"\n')
    os.chmod(podman, 0o755)
    return podman


def test_compose_starts_it_under_the_names_that_configurations_use():
    project, port = f"spanflame-test-{os.getpid()}", free_port()
    with tempfile.TemporaryDirectory(prefix="sf-compose.") as folder:
        podman = compose_room(folder)
        with open(os.path.join(SOURCE, "deploy", "compose.yaml"), encoding="utf-8") as f:
            text = f.read().replace("127.0.0.1:4040:4040", f"127.0.0.1:{port}:4040")
        for other in ("3200", "4317", "4318"):
            text = text.replace(f"127.0.0.1:{other}:{other}", f"127.0.0.1:{free_port()}:{other}")
        path = os.path.join(folder, "compose.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        compose = [os.path.join(folder, "bin", "podman-compose"), "--podman-path", podman, "-p", project, "-f", path]
        env = dict(os.environ, SPANFLAME_IMAGE=IMAGE)
        try:
            run(*compose, "--podman-run-args", " ".join(LIMITS), "up", "-d", "--no-deps", "spanflame", env=env)
            wait_ready(port, lambda: None)
            send_span(port, "in compose")
            for name in ("tempo", "pyroscope", "spanflame"):
                said = run(podman, "run", "--rm", "--network", f"{project}_default", *LIMITS, IMAGE,
                           "services", "--server", f"http://{name}:4040")
                assert "shop" in said, said
        finally:
            subprocess.run([*compose, "down", "-v"], env=env, capture_output=True, check=False)


if os.geteuid() != 0 or not all(shutil.which(p) for p in ("buildah", "podman", "debootstrap")):
    skip("needs root, and the packages of tools/packages.txt [package]")
MADE = subprocess.run([os.path.join(SOURCE, "tools", "image"), IMAGE], capture_output=True, text=True, check=False)
if MADE.returncode and "debian_base: apt has no" in MADE.stderr:
    skip("apt has no Debian package source here")
assert MADE.returncode == 0, MADE.stderr
TRY = subprocess.run([*PODMAN, "run", "--rm", *LIMITS, "--network", "none", IMAGE, "version"], capture_output=True, text=True, check=False)
if TRY.returncode and "OCI" in TRY.stderr:
    skip("no container can be run here: " + TRY.stderr.strip().splitlines()[-1])
try:
    tap.run(sys.modules[__name__])
finally:
    subprocess.run([*PODMAN, "rm", "-f", NAME], capture_output=True, check=False)
    subprocess.run([*PODMAN, "volume", "rm", "-f", VOLUME], capture_output=True, check=False)

#!/usr/bin/env python3
"""The program and the library for aarch64: built in a bare Debian 12 with a cross compiler, run by emulation (qemu-user).

Emulation has no seccomp, no Landlock and does not return memory to the system, so the rooms whose tests hold large stores
are not run; neither is the profilers' timing."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["SOURCE_ROOT"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import tap  # noqa: E402
from live import call, free_port, names_of, run, send_span, skip, wait_ready  # noqa: E402

PORT = free_port()
EMULATE = "qemu-aarch64-static"
ROOMS = ["base", "model", "wire", "http", "regex", "listen", "decode", "query", "flame", "wal", "block", "symbol", "scrape", "intake",
         "link", "render", "meter", "collect"]
LEFT_OUT = {
    ("collect", "walk"): "stacks are followed by unwind tables on x86_64 only",
    ("collect", "sample"): "stacks are followed by unwind tables on x86_64 only",
    ("collect", "process_context"): "the emulation copies pages to a child that asked for them to be left out",
}
CROSS = """[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-gcc-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'aarch64-linux-gnu-pkg-config'
exe_wrapper = '%s'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
""" % EMULATE
PROGRAM = """#include <spanflame.h>
int main(void)
{
    sf_start("armshop");
    sf_span s = sf_span_start("GET /arm");
    sf_span_end(s);
    return 0;
}
"""


class Room:
    def __init__(self, base):
        self.root = tempfile.mkdtemp(prefix="sf-arm.")
        os.chmod(self.root, 0o755)
        run("tar", "-C", self.root, "-xf", base)
        shutil.copy("/etc/resolv.conf", self.path("etc/resolv.conf"))
        self.mounts = []
        for name in ("proc", "dev"):
            run("mount", "--bind", "/" + name, self.path(name))
            self.mounts.append(name)
        self.server = None

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def popen(self, command, **options):
        return subprocess.Popen(["chroot", self.root, "/bin/sh", "-ec", command],
                                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                                     "LANG": "C.UTF-8", "CHECK_SCALE": "0.05", "SPANFLAME_SOURCE": "/project"}, text=True, **options)

    def sh(self, command):
        with self.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
            said = child.communicate()[0]
        assert child.returncode == 0, f"{command}: {said[-3000:]}"
        return said

    def leave(self):
        if self.server:
            self.server.terminate()
            self.server.wait(60)
        for name in self.mounts:
            subprocess.run(["umount", "-l", self.path(name)], check=False)
        shutil.rmtree(self.root, ignore_errors=True)


def prepare():
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        skip("needs root, and the packages of tools/packages.txt [package]")
    base = os.path.join(SOURCE, ".cache", "debian.tar")
    if not os.path.exists(base):
        done = subprocess.run([os.path.join(SOURCE, "tools", "debian_base"), base], capture_output=True, text=True, check=False)
        if done.returncode:
            skip("no Debian base can be made here: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    return base


def needed():
    """The libraries of section [build], for the other machine."""
    with open(os.path.join(SOURCE, "tools", "packages.txt"), encoding="utf-8") as f:
        build = f.read().split("[build]")[1].split("[")[0].split()
    return [name + ":arm64" for name in build if name.endswith("-dev") and name != "libc6-dev"] + ["libcmocka-dev:arm64"]


ROOM = Room(prepare())


def test_builds():
    ROOM.sh("dpkg --add-architecture arm64; apt-get -q update >/dev/null; apt-get -q -y --no-install-recommends install gcc libc6-dev "
            "gcc-aarch64-linux-gnu libc6-dev-arm64-cross meson ninja-build pkgconf python3 qemu-user-static libc6:arm64 "
            + " ".join(needed()) + " >/dev/null")
    os.mkdir(ROOM.path("project"))
    sources = subprocess.Popen(["git", "-C", SOURCE, "archive", "HEAD"], stdout=subprocess.PIPE)
    run("tar", "-C", ROOM.path("project"), "-x", stdin=sources.stdout)
    assert sources.wait() == 0
    with open(ROOM.path("cross.ini"), "w", encoding="utf-8") as f:
        f.write(CROSS)
    ROOM.sh("cd /project && PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig meson setup build --cross-file /cross.ini "
            "--buildtype=debugoptimized -Dbench=false >/dev/null && ninja -C build spanflame collect/libspanflame.a "
            "collect/libspanflame.so.1.0.0 " + " ".join(f"tests/unit/{room}_unit" for room in ROOMS) + " >/tmp/ninja.log || "
            "{ grep -vE '^\\[' /tmp/ninja.log; exit 1; }")
    assert "aarch64" in run("readelf", "-h", ROOM.path("project/build/spanflame")).lower()


def test_the_unit_tests_of_most_rooms_pass():
    tests = {(suite.split(":")[-1], test["name"]) for test in json.loads(ROOM.sh("meson introspect --tests /project/build"))
             for suite in test["suite"] if suite.split(":")[-1] in ROOMS and any(s.endswith(":unit") for s in test["suite"])}
    gone = set(LEFT_OUT) - tests
    assert not gone and len(tests) > 150, (gone, len(tests))

    def one(test):
        with ROOM.popen(f"cd /project/build && exec timeout 300 {EMULATE} tests/unit/{test[0]}_unit {test[1]}",
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
            said = child.communicate()[0]
        return None if child.returncode == 0 else (test, child.returncode, said[-600:])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [failed for failed in pool.map(one, sorted(tests - set(LEFT_OUT))) if failed]
    assert not bad, bad


def test_the_server_stores_spans_also_those_of_the_library():
    ROOM.server = ROOM.popen(f"exec {EMULATE} /project/build/spanflame serve --data /tmp/data --listen 127.0.0.1:{PORT}",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def check_alive():
        assert ROOM.server.poll() is None
    wait_ready(PORT, check_alive)
    assert names_of(PORT, send_span(PORT, "sent to aarch64")) == ["sent to aarch64"]
    with open(ROOM.path("tmp/shop.c"), "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    ROOM.sh("cd /project && ln -sf libspanflame.so.1.0.0 build/collect/libspanflame.so && aarch64-linux-gnu-gcc /tmp/shop.c -Iinclude "
            "-Lbuild/collect -lspanflame -Wl,-rpath,/project/build/collect -o /tmp/shop")
    ROOM.sh(f"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{PORT} {EMULATE} /tmp/shop")
    found = json.load(call(PORT, "/api/search?q=%7Bresource.service.name%3D%22armshop%22%7D"))["traces"]
    assert [t["rootTraceName"] for t in found] == ["GET /arm"], found


try:
    tap.run(sys.modules[__name__])
finally:
    ROOM.leave()

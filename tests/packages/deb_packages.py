#!/usr/bin/env python3
"""The Debian packages on a bare Debian 12: installed, used, upgraded with data, removed, purged.

The room is a chroot without systemd, so the unit's command is run by hand, as the user that the package made."""
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


class Room:
    def __init__(self, base):
        self.root = tempfile.mkdtemp(prefix="sf-deb.")
        os.chmod(self.root, 0o755)
        run("tar", "-C", self.root, "-xf", base)
        shutil.copy("/etc/resolv.conf", os.path.join(self.root, "etc/resolv.conf"))
        run("mount", "-t", "proc", "proc", os.path.join(self.root, "proc"))
        self.server = None

    def sh(self, command, **options):
        return run("chroot", self.root, "/bin/sh", "-ec", command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                                                                        "DEBIAN_FRONTEND": "noninteractive"}, **options)

    def has(self, path):
        return os.path.exists(os.path.join(self.root, path.lstrip("/")))

    def serve(self):
        """The unit's command, as its user."""
        with open(os.path.join(self.root, "lib/systemd/system/spanflame.service"), encoding="utf-8") as f:
            unit = f.read()
        command = next(line.split("=", 1)[1] for line in unit.splitlines() if line.startswith("ExecStart="))
        assert "\nUser=spanflame\n" in unit and command.startswith("/usr/bin/spanflame serve"), unit
        ids = self.sh("echo $(id -u spanflame):$(id -g spanflame)").strip()
        self.server = subprocess.Popen(["chroot", f"--userspec={ids}", self.root, *command.split(), "--listen", f"127.0.0.1:{PORT}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_ready(PORT, self.check_alive)

    def check_alive(self):
        assert self.server.poll() is None, self.server.stderr.read()

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait(120)
            self.server = None

    def leave(self):
        self.stop()
        subprocess.run(["umount", "-l", os.path.join(self.root, "proc")], check=False)
        shutil.rmtree(self.root, ignore_errors=True)


def later_version(folder, packages):
    """The same files as a later version: what `apt` sees of an upgrade."""
    made = []
    for path in packages:
        with tempfile.TemporaryDirectory() as work:
            run("dpkg-deb", "-R", path, work)
            control = os.path.join(work, "DEBIAN", "control")
            with open(control, encoding="utf-8") as f:
                text = f.read()
            with open(control, "w", encoding="utf-8") as f:
                f.write(text.replace("-1\n", "-2\n").replace("-1)", "-2)"))
            made.append(os.path.join(folder, "later_" + os.path.basename(path)))
            run("dpkg-deb", "-b", "--root-owner-group", work, made[-1])
    return made


def prepare():
    if os.geteuid() != 0 or not shutil.which("debootstrap") or not shutil.which("lintian"):
        skip("needs root, and the packages of tools/packages.txt [package]")
    base = os.path.join(SOURCE, ".cache", "debian.tar")
    if not os.path.exists(base):
        done = subprocess.run([os.path.join(SOURCE, "tools", "debian_base"), base], capture_output=True, text=True, check=False)
        if done.returncode:
            skip("no Debian base can be made here: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    out = tempfile.mkdtemp(prefix="sf-debs.")
    run(os.path.join(SOURCE, "tools", "deb"), out)
    return base, out


BASE, OUT = prepare()
PACKAGES = sorted(os.path.join(OUT, n) for n in os.listdir(OUT) if n.endswith(".deb") and "dbgsym" not in n)
ROOM = Room(BASE)
KEPT = []


def put(paths):
    os.makedirs(os.path.join(ROOM.root, "debs"), exist_ok=True)
    for path in paths:
        shutil.copy(path, os.path.join(ROOM.root, "debs"))
    return " ".join("/debs/" + os.path.basename(p) for p in paths)


def test_installs_and_serves():
    ROOM.sh("apt-get -q update >/dev/null")
    ROOM.sh(f"apt-get -q -y --no-install-recommends install {put(PACKAGES)} gcc libc6-dev pkgconf >/dev/null")
    assert ROOM.sh("stat -c '%a %U' /var/lib/spanflame").strip() == "700 spanflame"
    ROOM.serve()
    KEPT.append(send_span(PORT, "before the upgrade"))
    assert names_of(PORT, KEPT[0]) == ["before the upgrade"]
    page = call(PORT, "/").read()
    assert b"<script" in page, page[:200]


def test_the_library_is_found_by_the_compiler():
    ROOM.sh("printf '#include <spanflame.h>\\nint main(void) { sf_start(\"x\"); sf_span_end(sf_span_start(\"y\")); }' >/tmp/x.c; "
            "cc /tmp/x.c $(pkg-config --cflags --libs spanflame) -o /tmp/x && /tmp/x")


def test_an_upgrade_keeps_the_data_and_the_configuration():
    with open(os.path.join(ROOM.root, "etc/spanflame/spanflame.yaml"), "a", encoding="utf-8") as f:
        f.write("memory: 300MiB\n")
    ROOM.stop()
    ROOM.sh(f"apt-get -q -y install {put(later_version(OUT, PACKAGES))} >/dev/null")
    assert ROOM.sh("dpkg-query -W -f '${Version}' spanflame").endswith("-2")
    with open(os.path.join(ROOM.root, "etc/spanflame/spanflame.yaml"), encoding="utf-8") as f:
        assert "memory: 300MiB" in f.read()
    ROOM.serve()
    assert names_of(PORT, KEPT[0]) == ["before the upgrade"]
    ROOM.stop()


def test_remove_keeps_the_data_and_purge_does_not():
    ROOM.sh("apt-get -q -y remove spanflame >/dev/null")
    assert ROOM.has("/var/lib/spanflame/meta.db") and ROOM.has("/etc/spanflame/spanflame.yaml")
    assert not ROOM.has("/usr/bin/spanflame")
    ROOM.sh("apt-get -q -y purge spanflame >/dev/null")
    assert not ROOM.has("/var/lib/spanflame") and not ROOM.has("/etc/spanflame/spanflame.yaml")


try:
    tap.run(sys.modules[__name__])
finally:
    ROOM.leave()
    shutil.rmtree(OUT, ignore_errors=True)

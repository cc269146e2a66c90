"""ClickHouse for tests: servers out of the library of npm's @chdb/lib-linux-x64-gnu, 26.7 or newer.

Since 26.7 clickhouse-local can listen, and libchdb.so runs clickhouse-local: so a process that loads it is a server,
with HTTP, merges and tables that survive kill -9. It has no users, no TLS, no Keeper and no replication. The library is
SPANFLAME_TEST_LIBCHDB, or build/libchdb/libchdb.so, where tools/libchdb puts it; without it tests skip.

`make check` runs a short form of these tests (60 s of CPU time in all, with nothing beside it). Nearly all of it is ClickHouse, which plans a query
in 10 to 25 ms: so a short test asks few questions, and the shards of a test are those of the one before, emptied.
`make check-clickhouse` (FLEET_KILLS above 20) runs all of it.
"""
import atexit
import ctypes
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("SOURCE_ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import tap  # noqa: E402

LISTEN = ("SYSTEM START LISTEN HTTP; SELECT sleepEachRow(3) FROM numbers(100000) SETTINGS max_block_size=1, "
          "function_sleep_max_microseconds_per_block=0 FORMAT Null")


KILLS = int(os.environ.get("FLEET_KILLS", "4"))
IS_LONG = KILLS > 20


def needed(test):
    """A test that runs only where the library is."""
    test.needs_bed = True
    return test


def long(test):
    """A test of `make check-clickhouse`."""
    test.is_long = True
    return test


def run(module):
    """As tap.run(). Tests that cannot run here are one line for each reason."""
    def left_out(which, why):
        names = [n for n, f in vars(module).items() if n.startswith("test_") and callable(f) and which(f)]
        for name in names:
            delattr(module, name)

        def skip():
            raise tap.Skip(why)
        if names:
            setattr(module, f"test_{len(names)}_more_tests", skip)
        return names
    if not library():
        left_out(lambda f: hasattr(f, "needs_bed"), "no ClickHouse here: tools/libchdb gets the library")
    elif not IS_LONG:
        left_out(lambda f: hasattr(f, "is_long"), "make check-clickhouse runs them")
    tap.run(module)


def library():
    """The path of the library, or None."""
    for path in (os.environ.get("SPANFLAME_TEST_LIBCHDB"), os.path.join(ROOT, "build", "libchdb", "libchdb.so")):
        if path and os.path.exists(path):
            return path
    return None


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Shard:
    """One server, with its data in a folder of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sf_clickhouse.")
        self.path = os.path.join(self.folder, "data")
        self.port = free_port()
        self.process = None
        os.makedirs(self.path)
        atexit.register(self.end)

    def start(self):
        log = open(os.path.join(self.path + ".log"), "ab")
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--serve", library(), self.path, str(self.port)],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        until = time.monotonic() + 300  # at low priority on a busy machine
        while time.monotonic() < until:
            try:
                if self.ask("SELECT 1") == "1":
                    return self
            except (OSError, http.client.HTTPException):
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        with open(self.path + ".log", errors="replace") as f:
            raise RuntimeError("ClickHouse did not start: " + f.read()[-600:])

    def kill(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def end(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def give_back(self):
        """To the next test, if it runs and can be emptied."""
        try:
            for name in self.ask("SHOW DATABASES FORMAT TSV").split("\n"):
                if name not in ("default", "system", "INFORMATION_SCHEMA", "information_schema"):
                    self.ask(f"DROP DATABASE {name} SYNC")
            Bed.idle.append(self)
        except (OSError, RuntimeError, http.client.HTTPException):
            self.end()

    def ask(self, sql, timeout=30):
        """The answer as text; an exception of ClickHouse is one here."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request("POST", "/", sql.encode())
            r = c.getresponse()
            text = r.read().decode(errors="replace").strip()
        finally:
            c.close()
        if r.status != 200:
            raise RuntimeError(text[:400])
        return text

    def count(self, table, where="1"):
        return int(self.ask(f"SELECT count() FROM {table} WHERE {where}"))


class Bed:
    """Some empty shards, and a temporary folder, for a `with` block."""
    idle = []  # shards that run and are empty

    def __init__(self, n):
        self.n, self.shards = n, []
        self.folder = tempfile.mkdtemp(prefix="sf_clickhouse.")

    def __enter__(self):
        try:
            for _ in range(self.n):
                self.shards.append(Bed.idle.pop() if Bed.idle else Shard().start())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for shard in self.shards:
            shard.give_back()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database="spanflame"):
        return "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in self.shards) + "/" + database

    def ask(self, sql):
        return [s.ask(sql) for s in self.shards]

    def count(self, table, where="1"):
        return sum(s.count(table, where) for s in self.shards)


class OldServer:
    """Debian's ClickHouse 18.16, a real server with users, where it is installed. It is too old to ship to."""
    USER, PASSWORD = "writer", "hush-7391"

    def __init__(self):
        self.folder, self.port = tempfile.mkdtemp(prefix="sf_clickhouse."), free_port()

    @staticmethod
    def program():
        return shutil.which("clickhouse-server", path=os.environ["PATH"] + ":/usr/sbin")

    def __enter__(self):
        users, config = (os.path.join(self.folder, name) for name in ("users.xml", "config.xml"))
        with open(users, "w", encoding="ascii") as f:
            f.write(f"<yandex><profiles><default/></profiles><quotas><default/></quotas><users><{self.USER}><password>{self.PASSWORD}</password>"
                    f"<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></{self.USER}></users></yandex>")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"<yandex><logger><level>error</level><console>1</console></logger><http_port>{self.port}</http_port>"
                    f"<tcp_port>{free_port()}</tcp_port><listen_host>127.0.0.1</listen_host><path>{self.folder}/data/</path>"
                    f"<tmp_path>{self.folder}/tmp/</tmp_path><mark_cache_size>1000000</mark_cache_size><users_config>{users}</users_config>"
                    "<default_profile>default</default_profile><default_database>default</default_database></yandex>")
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen([self.program(), "--config-file=" + config], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, sql):
        """Status and text of the answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            c.request("POST", f"/?user={self.USER}&password={self.PASSWORD}", sql.encode())
            r = c.getresponse()
            return r.status, r.read().decode(errors="replace")
        finally:
            c.close()


def serve(path_of_library, data, port):
    lib = ctypes.CDLL(path_of_library, mode=ctypes.RTLD_GLOBAL)
    words = [b"clickhouse", b"--path", data.encode(), b"--logger.level", b"error", b"--listen_host", b"127.0.0.1",
             b"--http_port", port.encode(), b"--query", LISTEN.encode()]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    lib.chdb_query_cmdline.restype = ctypes.c_void_p
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    lib.chdb_query_cmdline(len(words), argv)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--serve":
        serve(*sys.argv[2:])
    else:
        # For people: one server until Ctrl-C.
        if not library():
            sys.exit("clickhouse_bed: no libchdb.so; tools/libchdb gets one, or set SPANFLAME_TEST_LIBCHDB")
        with Bed(int(sys.argv[1]) if len(sys.argv) > 1 else 1) as bed:
            print(bed.url(), flush=True)
            try:
                signal.pause()
            except KeyboardInterrupt:
                pass

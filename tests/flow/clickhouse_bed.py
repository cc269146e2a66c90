"""ClickHouse for tests: servers out of the library of npm's @chdb/lib-linux-x64-gnu, 26.7 or newer.

Since 26.7 clickhouse-local can listen, and libchdb.so runs clickhouse-local: so a process that loads it is a server,
with HTTP, merges and tables that survive kill -9. It has no users, no TLS, no Keeper and no replication. The library is
SPANFLAME_TEST_LIBCHDB, or build/libchdb/libchdb.so, where tools/libchdb puts it; without it tests skip.
"""
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
LISTEN = ("SYSTEM START LISTEN HTTP; SELECT sleepEachRow(3) FROM numbers(100000) SETTINGS max_block_size=1, "
          "function_sleep_max_microseconds_per_block=0 FORMAT Null")


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

    def __init__(self, folder, name):
        self.path = os.path.join(folder, name)
        self.port = free_port()
        self.process = None
        os.makedirs(self.path, exist_ok=True)

    def start(self):
        log = open(os.path.join(self.path + ".log"), "ab")
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--serve", library(), self.path, str(self.port)],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        until = time.monotonic() + 60
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
    """Some shards in a temporary folder; a `with` block ends them."""

    def __init__(self, n):
        self.folder = tempfile.mkdtemp(prefix="sf_clickhouse.")
        self.shards = [Shard(self.folder, f"shard{i + 1}") for i in range(n)]

    def __enter__(self):
        try:
            for shard in self.shards:
                shard.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for shard in self.shards:
            shard.kill()
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

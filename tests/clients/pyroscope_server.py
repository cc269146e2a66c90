"""pyroscope_server.py - a real Pyroscope in one process, on loopback and free ports, in a directory of its own."""
import atexit
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import time

from server import free_port


class Pyroscope:
    def __init__(self, program):
        self.home = tempfile.mkdtemp(prefix="spanflame-pyroscope-")
        atexit.register(shutil.rmtree, self.home, ignore_errors=True)
        self.port, grpc, gossip, raft, admin = (free_port() for _ in range(5))
        here = "127.0.0.1"
        flags = {"architecture.storage": "v2", "usage-stats.enabled": "false", "self-profiling.disable-push": "true",
                 "server.http-listen-address": here, "server.http-listen-port": self.port,
                 "server.grpc-listen-address": here, "server.grpc-listen-port": grpc,
                 "admin-server.http-listen-address": here, "admin-server.http-listen-port": admin,
                 "memberlist.bind-addr": here, "memberlist.bind-port": gossip,
                 "memberlist.advertise-addr": here, "memberlist.advertise-port": gossip,
                 "metastore.address": f"localhost:{grpc}", "query-backend.address": f"localhost:{grpc}",
                 "metastore.raft.bind-address": f"{here}:{raft}", "metastore.raft.advertise-address": f"{here}:{raft}",
                 "metastore.raft.server-id": f"localhost:{raft}", "metastore.raft.dir": self.home + "/raft",
                 "metastore.raft.snapshots-dir": self.home + "/raft", "metastore.data-dir": self.home + "/metastore",
                 "metastore.min-ready-duration": "0s",
                 "pyroscopedb.data-path": self.home + "/db", "storage.backend": "filesystem",
                 "storage.filesystem.dir": self.home + "/bucket", "compactor.data-dir": self.home + "/compactor"}
        flags |= {f"{ring}.store": "inmemory" for ring in ("ring", "distributor.ring", "compactor.ring", "query-scheduler.ring",
                                                          "store-gateway.sharding-ring", "overrides-exporter.ring")}
        flags |= {f"{part}-addr": here for part in ("distributor.ring.instance", "query-frontend.instance")}
        flags |= {f"{part}.lifecycler.addr": here for part in ("segment-writer", "ingester")}
        self.log_path = os.path.join(self.home, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([program, *(f"-{key}={value}" for key, value in flags.items())], stdout=log,
                                            stderr=subprocess.STDOUT, cwd=self.home)
        atexit.register(self.end)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()[-3000:]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def wait_until_ready(self, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, f"Pyroscope ended:\n{self.log()}"
            try:
                if self.request("GET", "/ready")[0] == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.5)
        raise AssertionError(f"Pyroscope is not ready after {seconds} s:\n{self.log()}")

    def request(self, method, path, body=None):
        return request(self.port, method, path, body)


def request(port, method, path, body=None):
    """(status, body); a body that is not text goes as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.status, answer.read()
    connection.close()
    return told

"""faultfs.py - the other end of the fault shim's control block (faultfs.h has the layout)."""
import errno
import mmap
import os
import struct

OPEN, WRITE, SYNC, RENAME, UNLINK, READ, MKDIR, TRUNCATE, ALLOCATE, STATVFS = (1 << i for i in range(10))
ALL = (1 << 10) - 1
CHANGES = ALL & ~(READ | STATVFS)
FAIL, SHORT, TORN, KILL = range(4)
LEN = 336


class Control:
    """Faults for a program started with `env(...)`, switched on and off while it runs."""

    def __init__(self, path, library):
        self.path = path
        self.library = library
        with open(path, "wb") as f:
            f.write(b"SFFAULT1" + bytes(LEN - 8))
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), LEN)

    def env(self, base=None):
        env = dict(os.environ if base is None else base)
        env["SF_FAULT_CONTROL"] = self.path
        env["LD_PRELOAD"] = self.library
        return env

    def _set(self, off, kind, value):
        struct.pack_into("<" + kind, self.map, off, value)

    def _get(self, off, kind):
        return struct.unpack_from("<" + kind, self.map, off)[0]

    def arm(self, calls, error=errno.EIO, mode=FAIL, first=1, n_fail=0, path=""):
        self.disarm()
        self.map[80:336] = path.encode().ljust(256, b"\0")
        self._set(16, "I", mode)
        self._set(20, "I", error)
        self._set(24, "Q", first)
        self._set(32, "Q", n_fail)
        self._set(40, "Q", 0)
        self._set(48, "Q", 0)
        self._set(12, "I", calls)
        self._set(8, "I", 1)

    def disarm(self):
        self._set(8, "I", 0)
        self._set(12, "I", 0)

    def count(self, calls, path=""):
        """Counts matching calls without failing any."""
        self.arm(calls, path=path)
        self._set(8, "I", 0)

    @property
    def n_matched(self):
        return self._get(40, "Q")

    @property
    def n_failed(self):
        return self._get(48, "Q")

    def set_clock(self, seconds):
        self._set(56, "q", int(seconds * 1_000_000_000))

    def set_free(self, free_len):
        """What statvfs reports as free; None: the truth."""
        self._set(64, "Q", 0 if free_len is None else free_len + 1)

    def set_sync_delay(self, us):
        self._set(72, "I", us)

    def close(self):
        self.map.close()
        self.file.close()

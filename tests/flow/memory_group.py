"""memory_group.py - how much memory a server took at most, and a control group that limits it."""
import os
import time


def most_mib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def forget_most(server):
    """From here on `most_mib` counts anew."""
    with open(f"/proc/{server.process.pid}/clear_refs", "w", encoding="ascii") as f:
        f.write("5")


def make_group(limit_len):
    """A control group of that limit: (its folder, the file that counts kills), or None twice."""
    for root, limit, kills in (("/sys/fs/cgroup", "memory.max", "memory.events"),
                               ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control")):
        path = os.path.join(root, f"spanflame-test-{os.getpid()}")
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            if os.path.exists(os.path.join(path, limit)) and os.path.exists(os.path.join(path, kills)):
                with open(os.path.join(path, limit), "w", encoding="ascii") as f:
                    f.write(str(limit_len))
                return path, os.path.join(path, kills)
        except OSError:
            pass
        os.rmdir(path)
    return None, None


def remove_group(path):
    for _ in range(50):
        try:
            os.rmdir(path)
            return
        except OSError:  # its last process is still ending
            time.sleep(0.1)


def n_kills(path):
    with open(path, encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("oom_kill "))

#!/usr/bin/env python3
"""`spanflame record` to a file and to a server at once: both have the same stacks, values and types, and Go's tool reads
the files."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
from recording import HOME, SPANFLAME, SPIN, bare, compiled, raw_of_go, recorded, tap  # noqa: E402
from server import Server  # noqa: E402

PROGRAM = compiled("all_kinds", SPIN + """
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void planted_spin_too(void) { planted_spin(0.2); sink++; }
__attribute__((noinline)) static void planted_alloc(void)
{
    for (int i = 0; i < 2000; i++) {
        void *volatile p = malloc(1000);
        if (i % 2)
            free(p);
    }
}
__attribute__((noinline)) static int planted_wait(void)
{
    int err = pthread_mutex_lock(&lock);
    return err + pthread_mutex_unlock(&lock);
}
static void *waits(void *arg)
{
    for (int i = 0; i < 10; i++) {
        sink += planted_wait();
        usleep(1000);
    }
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_mutex_lock(&lock);
    pthread_create(&t, NULL, waits, NULL);
    usleep(20000);
    planted_spin(0.2);
    planted_spin_too();
    planted_alloc();
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    puts("done");
    return 3;
}""")
# Sample types by the file they are in. How many samples of CPU time there were is the file's alone: a server counts time.
FILES = {"out.pb.gz": ["cpu"], "out-wall.pb.gz": ["wall"],
         "out-heap.pb.gz": ["alloc_space", "alloc_objects", "inuse_space", "inuse_objects"],
         "out-mutex.pb.gz": ["delay", "contentions"], "out-block.pb.gz": ["off_cpu"]}
PLANTED = {"cpu": "planted_spin_too;planted_spin", "wall": "planted_spin_too;planted_spin", "alloc_space": "planted_alloc",
           "inuse_space": "planted_alloc", "delay": "planted_wait", "off_cpu": "waits"}
SERVER = Server().start()
# Several windows, whose sum is the file.
DONE = recorded([PROGRAM], "--cpu", "--wall", "--heap", "--mutex", "--block", "--heap-rate", "32KiB", "--rate", "250",
                "--server", f"http://127.0.0.1:{SERVER.port}",
                env=dict(os.environ, OTEL_SERVICE_NAME="both", SPANFLAME_PROFILING_UPLOAD_INTERVAL="1s"))


def stacks(text):
    out = {}
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        out[stack] = out.get(stack, 0) + int(value)
    return out


def of_file(name, kind):
    done = bare([SPANFLAME, "export", os.path.join(HOME, name), "--type", kind, "--format", "folded"])
    assert done.returncode == 0, done
    return stacks(done.stdout)


def of_server(kind):
    for _ in range(100):
        got = SERVER.get(f"/api/v1/profile?app=both&type={kind}&format=folded")
        if got.status == 200:
            return stacks(got.text)
        time.sleep(0.05)
    raise AssertionError(got.text)


def test_the_program_is_left_alone_and_both_are_told():
    assert (DONE.returncode, DONE.stdout) == (3, "done\n"), DONE
    assert "profiles sent" in DONE.stderr and "out-heap.pb.gz" in DONE.stderr, DONE.stderr


def test_the_server_received_what_the_files_hold():
    for name, kinds in FILES.items():
        for kind in kinds:
            file, server = of_file(name, kind), of_server(kind)
            assert file == server, (kind, sorted(set(file.items()) ^ set(server.items()))[:6])
            assert any(PLANTED.get(kind, "") in stack for stack in file), (kind, file)


def test_waits_are_whole_microseconds():
    for name, kind in (("out-mutex.pb.gz", "delay"), ("out-block.pb.gz", "off_cpu")):
        values = of_file(name, kind).values()
        assert sum(values) > 10**6 and all(v % 1000 == 0 for v in values), (kind, values)


def test_the_server_has_no_other_types():
    told = SERVER.get("/api/v1/profile?app=both&type=nothing&format=folded").text
    kinds = set(re.findall(r":(\w+)", told.split("there is")[1]))
    assert kinds == {kind for kinds in FILES.values() for kind in kinds}, told


def test_what_the_server_gives_out_as_pprof_is_the_file():
    for name, kinds in FILES.items():
        path = os.path.join(HOME, "given-" + name)
        with open(path, "wb") as f:
            f.write(SERVER.get(f"/api/v1/profile?app=both&type={kinds[0]}&format=pprof").body)
        assert of_file("given-" + name, kinds[0]) == of_file(name, kinds[0]), name


def test_gos_tool_reads_the_files():
    for name, kinds in FILES.items():
        raw = raw_of_go(os.path.join(HOME, name), f"-sample_index={kinds[0]}")
        types, *samples = raw.split("\nSamples:\n")[1].split("\nLocations\n")[0].splitlines()
        at = [word.split("/")[0] for word in types.split()].index(kinds[0])
        rows = [re.match(r" +([-\d ]+): ", line) for line in samples]
        total = sum(int(row[1].split()[at]) for row in rows if row)
        assert total == sum(of_file(name, kinds[0]).values()), (name, types, total)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])

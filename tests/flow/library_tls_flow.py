#!/usr/bin/env python3
"""Spans and profiles over https, by an OpenSSL that a program has in memory only when it asks for that."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import library_home  # noqa: E402
from server import Server, free_port, tap  # noqa: E402

SOURCE, LIBRARY = os.environ["SOURCE_ROOT"], os.path.join(os.environ["BUILD_ROOT"], "collect")
HOME = library_home.folder("library-tls")
ENV = library_home.clean_env()
CERT, KEY = os.path.join(HOME, "tls.crt"), os.path.join(HOME, "tls.key")
PORT = free_port()
STRANGER = os.path.join(HOME, "stranger.crt")

PROGRAM = r"""
#include <dlfcn.h>
#include <spanflame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static int has_ssl(void)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), f))
        n |= strstr(line, "libssl") != NULL;
    fclose(f);
    return n;
}
int main(int argc, char **argv)
{
    sf_counters c = {.size = sizeof(c)};
    char why[240] = "";
    int status = 0, uses_it = argc > 1 && !strcmp(argv[1], "uses");
    if (uses_it) { /* a program with an OpenSSL of its own, which its exit handlers clean up */
        void *ssl = dlopen("libssl.so.3", RTLD_NOW);
        int (*init)(unsigned long, void *) = ssl ? (int (*)(unsigned long, void *))dlsym(ssl, "OPENSSL_init_ssl") : NULL;
        if (!init || !init(0, NULL))
            return 3;
    }
    if (sf_start(NULL))
        return 1;
    sf_span first = sf_span_start("first");
    while (argc > 1 && !strcmp(argv[1], "works") && clock() < CLOCKS_PER_SEC / 2)
        ;
    sf_span_end(first);
    sf_flush(10000);
    if (argc > 1 && !strcmp(argv[1], "forks") && !fork()) {
        sf_span_end(sf_span_start("child"));
        sf_flush(10000);
        exit(0);
    }
    wait(&status);
    sf_span_end(sf_span_start("second"));
    if (!uses_it)
        sf_flush(10000);
    sf_counters_read(&c);
    sf_problem(why, sizeof(why));
    printf("%d %llu %llu %s\n", has_ssl(), (unsigned long long)c.spans_sent, (unsigned long long)c.profiles_sent, why);
    return 0;
}
"""


def begin():
    if not shutil.which("openssl"):
        raise tap.Skip("openssl is not here to make a certificate")
    for cert, key in ((CERT, KEY), (STRANGER, KEY + "2")):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                        "-keyout", key, "-out", cert], check=True, capture_output=True)
    source, program = os.path.join(HOME, "program.c"), os.path.join(HOME, "program")
    with open(source, "w", encoding="ascii") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-I" + os.path.join(SOURCE, "include"), source, "-o", program, "-L" + LIBRARY,
                    "-lspanflame", "-Wl,-rpath," + LIBRARY], check=True)
    server = Server(has_listen=False)
    server.config = (f"listen:\n  - 127.0.0.1:{server.port}\n"
                     f"  - {{address: '127.0.0.1:{PORT}', tls: {{cert: {CERT}, key: {KEY}}}}}\n")
    server.start()
    return server, program


STATE = []


def tell(service, story="plain", url=None, **env):
    """What the program said: has libssl, spans sent, profiles sent, the problem."""
    if not STATE:
        STATE.extend(begin())
    env = dict(ENV, OTEL_SERVICE_NAME=service, OTEL_EXPORTER_OTLP_CERTIFICATE=CERT,
               OTEL_EXPORTER_OTLP_ENDPOINT=url or f"https://127.0.0.1:{PORT}", **env)
    done = subprocess.run([STATE[1], story], capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.returncode == 0, done
    has, spans, profiles, why = done.stdout.rstrip("\n").split(" ", 3)
    return int(has), int(spans), int(profiles), why


def spans_of(service, n):
    for _ in range(200):
        found = STATE[0].json(f"/api/search?q=%7Bresource.service.name%3D%22{service}%22%7D&limit=50")["traces"]
        if len(found) >= n:
            break
        time.sleep(0.05)
    return sorted(t["rootTraceName"] for t in found)


def test_spans_and_profiles_go_over_https():
    has, spans, profiles, why = tell("secure", "works", SPANFLAME_PROFILES="cpu,heap")
    assert (has, spans, why) == (1, 2, "") and profiles >= 1, (has, spans, profiles, why)
    assert spans_of("secure", 2) == ["first", "second"]


def test_grpc_over_tls_and_a_host_by_its_name():
    got = tell("secure-grpc", url=f"https://localhost:{PORT}", OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert got[1] == 2, got
    assert spans_of("secure-grpc", 2) == ["first", "second"]


def test_a_server_nobody_vouches_for_gets_nothing():
    has, spans, _, why = tell("untrusting", OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=STRANGER)
    assert has == 1 and spans == 0 and "certificate" in why, (has, spans, why)
    has, spans, _, why = tell("no-file", OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE="/nowhere.pem")
    assert spans == 0 and "/nowhere.pem" in why, (has, spans, why)
    assert spans_of("untrusting", 0) == [] and spans_of("no-file", 0) == []


def test_plain_http_loads_no_openssl():
    tell("warm")
    assert tell("plain", url=f"http://127.0.0.1:{STATE[0].port}")[:2] == (0, 2)


def test_forked_children_have_connections_of_their_own():
    assert tell("secure-forks", "forks")[1] == 2
    assert spans_of("secure-forks", 3) == ["child", "first", "second"]


def test_a_program_with_its_own_openssl_loses_no_last_span():
    assert tell("secure-uses", "uses")[0] == 1
    assert spans_of("secure-uses", 2) == ["first", "second"]


tap.run(sys.modules[__name__])

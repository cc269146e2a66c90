#!/usr/bin/env python3
"""Parameters that are misspelt, empty, repeated, broken or long never widen what is asked for or erased."""
import glob
import json
import os
import pty
import re
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import JSON, PROGRAM, Server, field, fields, make_span, tap  # noqa: E402

server = Server().start()
spans = {name: make_span(service=name) for name in ("shop", "bank")}
server.send(list(spans.values()))
for service in spans:
    answer = server.post(f"/api/v1/profile?service={service}&type=cpu&label=pod=p1", b"main;work 7\n", "text/plain")
    assert answer.status == 200, answer.text
SHOP, BANK = (spans[name]["trace_id"].hex() for name in ("shop", "bank"))


def is_there(*traces):
    for trace in traces:
        assert server.get("/api/traces/" + trace).status == 200, trace


def erase(ask, status=200):
    """A body when it is bytes or a dict, else parameters."""
    if isinstance(ask, str):
        answer = server.post("/api/v1/erase?" + ask, b"", JSON)
    else:
        answer = server.post("/api/v1/erase", ask if isinstance(ask, bytes) else json.dumps(ask), JSON)
    assert answer.status == status, (ask, answer.status, answer.text)
    return answer.text if status != 200 else json.loads(answer.body)


def test_no_command_takes_a_flag_that_would_do_nothing():
    for line, flag in (("control on shop --rate 200", "rate"), ("control off shop --for 10m", "for"), ("control get shop --to x", "to"),
                       ("control reset shop --budget 1%", "budget"), ("control set shop --rate 5 --seconds 3", "seconds"),
                       ("control capture shop --wall-rate 5", "wall-rate"), ("control capture shop --output json", "output"),
                       ("control collectors shop --instance x", "instance"), ("control audit --rate 5", "rate"),
                       (f"keep pin {SHOP} --dry-run", "dry-run"), (f"keep unpin {SHOP} --for 1d", "for"), ("keep list --slow 1s", "slow"),
                       (f"keep --trace {SHOP} --since 1d", "since"), ("keep --dry-run --note x", "note"),
                       ("alerts --since 7d", "since"), ("deploys --version 1", "version"), ("deploys list --commit 1", "commit"),
                       ("deploys post --service shop --version 1 --since 1d", "since"),
                       ("deploys compare --service shop --version 1 --comment x", "comment"),
                       ("store status --since 1d", "since"), ("store verify --database x", "database"), ("store schema --dry-run", "dry-run"),
                       ("store migrate --to clickhouse://x:1/y --user x", "user"),
                       ("flame x.pb.gz --since 1h", "since"), ("flame x.pb.gz --self", "self"), ("flame x.pb.gz --by wall", "by"),
                       ("flame --span 1 --focus x", "focus"), ("flame --trace 1 --min 5", "min"), ("flame --q {} --time-range 1h", "time-range"),
                       ("top x.pb.gz --since 1h", "since"), ("top x.pb.gz --min 5", "min"), ("top --span 1 --input pprof", "input"),
                       ("top --trace 1 --since 1h", "since"), ("coverage --span 1 --since 1h", "since"),
                       ("guard --q {} --baseline 1 --candidate 2 --runs 9", "runs"),
                       ("guard --baseline-profiles a --candidate-profiles b --wait 1m", "wait"),
                       ("guard --baseline-command a --candidate-command b --min-spans 9", "min-spans")):
        done = subprocess.run([PROGRAM, *line.split()], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and f"--{flag} does not apply to" in done.stderr, (line, done)
    for line in ("record --rate 5 --heap -- true", "record --heap-rate 5 -- true", "record --rate 0 -- true", "record --heap-rate 0 --heap -- true"):
        done = subprocess.run([PROGRAM, *line.split()], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "rate is" in done.stderr, (line, done)


def test_commands_and_flags_in_the_docs_exist():
    def words(*argv):
        return set(subprocess.run([PROGRAM, *argv], capture_output=True, text=True, check=True).stdout.split())
    flags = {name: words(name, "--list-flags") for name in words("--list-commands")}
    n = 0
    root = os.environ["SOURCE_ROOT"]
    for path in [os.path.join(root, "README.md"), *sorted(glob.glob(os.path.join(root, "docs", "*.md")))]:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        # Inline code, and lines of code blocks with the lines that continue them.
        code = re.findall(r"`spanflame ([^`]*)`", text.replace("\n", " ")) + re.findall(r"^ *(?:\$ )?spanflame (.*)$", text.replace("\\\n", " "), re.M)
        for line in code:
            name, _, rest = line.partition(" ")
            if not re.fullmatch(r"[a-z][a-z-]*", name):
                continue
            assert name in flags, (path, line)
            rest = re.sub(r"'[^']*'|\"[^\"]*\"", "", rest.split(" -- ")[0].split(" | ")[0].split("#")[0])
            for flag in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", rest):
                n += 1
                assert flag in flags[name] or "--" + flag[5:] in flags[name] and flag.startswith("--no-"), (path, line, flag)
    assert n > 50, n


def test_the_slips_as_first_seen():
    span = "&from=now-1h&until=now"
    for ask, word in (("traces=" + span, "traces"), ("Service=shop" + span, "Service"), ("service=" + span, "service"),
                      ({"service": None, "from": "now-1h"}, "service"), ({"traces": [], "from": "now-1h"}, "traces"),
                      ("service" + span, "service"), ("service=shop&service=bank", "service"),
                      ("service=%zz" + span, "service"), ("all=" + span, "all"), ("from=now-1h", "all"),
                      ("until=now", "all"), ({"from": "now-1h", "until": "now"}, "all"), ({"all": False}, "all"),
                      ({"all": None, "from": 5}, "all"), ({"service": ""}, "service"), (b"{}", "all"),
                      (b'{"service":"shop","service":"bank"}', "service"), ({"service": "shop", "all": True}, "only one"),
                      ({"service": ["shop"]}, "service"), ({"from": "", "all": True}, "time"), ({"all": "yes"}, "all"),
                      ("traces=" + SHOP + "," + span, "traceID"), ("trace=1&traces=2", "not both"),
                      ("service=shop&frm=now", "from"), ("", "all"),
                      ("service=shop&until=0", "until"), ("all=true&until=0.0", "until"), ("service=shop&until=now-99y", "until"),
                      ({"service": "shop", "until": 0}, "until"), ({"all": True, "until": "1970-01-01T00:00:00Z"}, "until")):
        text = erase(ask, 400)
        assert word in text, (ask, text)
    answer = server.post("/api/v1/erase?service=shop", json.dumps({"all": True}), JSON)
    assert answer.status == 400 and "not both" in answer.text, answer.text
    is_there(SHOP, BANK)


def test_a_body_that_nobody_reads_is_refused():
    for path, names in ((f"/api/v1/pins/{SHOP}", "for note"), ("/api/v1/profiling/capture?service=nobody", "seconds"), ("/api/v1/flush", "none")):
        for body in ({"for": "30d"}, {"seconds": 1}, [], "30d"):
            answer = server.post(path, json.dumps(body).encode(), JSON)
            assert answer.status == 400 and "reads no body" in answer.text and names in answer.text, (path, body, answer.status, answer.text)
        for body in (b"", b"{}", b" {}\n"):
            answer = server.post(path, body, JSON)
            assert answer.status in (200, 404) and "reads no body" not in answer.text, (path, body, answer.status, answer.text)
    pin = json.loads(server.get(f"/api/v1/keep/{SHOP}").body)["pin"]
    assert int(pin["untilUnixNano"]) - int(pin["createdUnixNano"]) == 7 * 86400 * 10**9, pin
    assert server.request("DELETE", f"/api/v1/pins/{SHOP}").status == 200


def test_a_dry_run_counts_and_erases_nothing():
    for ask in ({"service": "shop", "dry_run": True}, "service=shop&dry_run=true"):
        answer = erase(ask)
        assert answer == {"erased": False, "dryRun": True, "spans": 1, "profiles": 1, "samples": 1, "isExact": True}, answer
    answer = erase({"traces": [SHOP, SHOP, BANK], "dry_run": True})
    assert (answer["spans"], answer["erased"]) == (2, False), answer
    assert erase("all=true&dry_run=true")["spans"] == 2
    assert erase("all=true&from=now-1h&until=now-30m&dry_run=1")["spans"] == 0
    is_there(SHOP, BANK)


def test_the_answer_and_the_log_say_what_went():
    gone = make_span(service="gone")
    server.send([gone])
    answer = erase("service=gone&from=now-1h&until=now")
    assert (answer["erased"], answer["dryRun"], answer["spans"], answer["profiles"]) == (True, False, 1, 0), answer
    assert server.get("/api/traces/" + gone["trace_id"].hex()).status == 404
    line = [text for text in server.log().splitlines() if "erase" in text][-1]
    for word in ("service:gone", "range=20", "127.0.0.1", "single-tenant", "spans=1"):
        assert word in line, (word, line)
    erase({"service": "ghp_" + "Hunter2" * 5})
    line = [text for text in server.log().splitlines() if "erase" in text][-1]
    assert "service:[REDACTED]" in line and "Hunter2" not in server.log(), line
    is_there(SHOP, BANK)


def command(*args, typed=None):
    """The command; with `typed`, on a terminal where that is typed."""
    full = [PROGRAM, "erase", *args, "--server", f"http://127.0.0.1:{server.port}"]
    if typed is None:
        done = subprocess.run(full, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    else:
        ours, theirs = pty.openpty()
        os.write(ours, typed.encode())
        done = subprocess.run(full, capture_output=True, text=True, stdin=theirs, timeout=60, check=False)
        os.close(ours)
        os.close(theirs)
    return done.returncode, done.stdout + done.stderr


def test_the_command_counts_asks_and_refuses_slips():
    code, said = command("--service", "shop", "--dry-run")
    assert code == 0 and "Would erase everything of service shop: 1 span, 1 profile, 1 sample" in said, said
    code, said = command("--service", "shop", typed="n\n")
    assert code == 1 and "1 span, 1 profile" in said and "Nothing was erased" in said, said
    for args, word in ((["--service", "", "--yes"], "empty"), (["--from", "now-1h", "--yes"], "--all"),
                       (["--from", "", "--all", "--yes"], "--from"), (["--service", "shop", "--all", "--yes"], "one of"),
                       (["--yes"], "specify what"), (["--service", "shop"], "--yes")):
        code, said = command(*args)
        assert code == 2 and word in said, (args, said)
    is_there(SHOP, BANK)
    gone = make_span(service="asked")
    server.send([gone])
    code, said = command("--service", "asked", typed="y\n")
    assert code == 0 and "Erased everything of service asked: 1 span, 0 profiles" in said, said
    assert server.get("/api/traces/" + gone["trace_id"].hex()).status == 404


OWN = ["/api/v1/services?", "/api/v1/coverage?service=shop&", "/api/v1/findings?service=shop&",
       "/api/v1/frames/spans?service=shop&", "/api/v1/cohort?q=%7B%7D&", "/api/v1/compare?q=%7B%7D&",
       f"/api/v1/trace/{SHOP}?", f"/api/v1/traces/{SHOP}/flame?",
       f"/api/v1/spans/{SHOP}/{spans['shop']['span_id'].hex()}/profile?",
       f"/api/v1/spans/{SHOP}/{spans['shop']['span_id'].hex()}/coverage?",
       f"/api/v1/spans/{SHOP}/{spans['shop']['span_id'].hex()}/ledger?"]


def test_own_calls_know_their_parameters():
    for path in OWN:
        known = server.get(path.rstrip("?&"))
        assert known.status == 200, (path, known.text)
        word = "type" if "services" not in path and "ledger" not in path else \
            "from" if "services" in path else "format"
        for more, want in (("Service=shop", "Service"), ("nonsense=1", "nonsense"), (f"{word}=", word), (word, word),
                           (f"{word}=1&{word}=1", word), (f"{word}=%zz", word), (f"{word}=%4", word), ("%zz=1", "%zz")):
            answer = server.get(path + more)
            assert answer.status == 400 and want in answer.text, (path + more, answer.status, answer.text)
    assert server.post("/api/v1/flush?all=1", b"", JSON).status == 400
    assert "did you mean service" in server.get("/api/v1/services?servce=shop").text


def test_calls_in_the_shapes_of_others_take_what_those_take():
    for path in ("/api/search?q=%7B%7D&nonsense=1&spss=", f"/api/traces/{SHOP}?mode=blocks&start=&end=",
                 "/api/v2/search/tags?orgid=1", "/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds%7B%7D&from=now-1h&until=now&format=json&x=&x=",
                 "/api/services?x=1", "/api/traces?service=shop&x=", "/metrics?x=1", "/api/status/buildinfo?x",
                 "/api/v1/profile?app=shop&span_id=&format=flamegraph&utm_source=an-article&trace_id="):
        answer = server.get(path)
        assert answer.status in (200, 404) and (answer.status == 200 or "traceID" not in answer.text), (path, answer.text)
    # Our own names are not guessed at even there.
    for more, word in (("app=shop&app=bank", "app"), ("selector=%zz", "selector")):
        answer = server.get("/api/v1/profile?" + more)
        assert answer.status == 400 and word in answer.text, (more, answer.text)
    assert server.get("/api/v1/profile?app=shop&call_site=main&call_site=work").status == 200


def unknown():
    name = 'spanflame_unknown_request_fields_total{api="tempo"} '
    return int(next(line for line in server.get("/metrics").text.splitlines() if line.startswith(name)).split()[-1])


def test_tempos_fields_are_obeyed_refused_or_counted():
    for path in (f"/api/v2/traces/{SHOP}?q=%7B%7D", f"/api/v2/traces/{SHOP}?span_pruning=true", f"/api/traces/{SHOP}?blockStart=0",
                 "/api/metrics/query_range?q=%7B%7D%7Crate()&blockID=1"):
        answer = server.get(path)
        assert answer.status == 501 and "not supported" in answer.text, (path, answer.status, answer.text)
    range_query = field(1, "{} | rate()")
    for method, body, status in (("MetricsQueryRange", range_query + field(18, 1), 12), ("MetricsQueryRange", range_query + field(8, "id"), 12),
                                 ("MetricsQueryRange", range_query + field(7, "recent") + field(19, "x"), 0),
                                 ("Search", field(8, "{}") + field(11, "x"), 0), ("SearchTags", field(6, 5), 0)):
        assert server.grpc("/tempopb.StreamingQuerier/" + method, body)[0] == status, (method, body)
    before = unknown()
    for path in (f"/api/v2/traces/{SHOP}?start=&ofNextYear=1", "/api/v2/search/tags?limit=10&x=1"):
        assert server.get(path).status == 200, path
    for method, body in (("Search", field(8, "{}") + field(99, "x")), ("MetricsQueryInstant", range_query + field(77, 1)),
                         ("SearchTagValues", field(1, "name") + field(55, 2))):
        assert server.grpc("/tempopb.StreamingQuerier/" + method, body)[0] == 0, method
    assert unknown() == before + 5


def test_every_field_of_tempos_messages_changes_the_answer():
    """The messages of tempo.proto that are asked in streams, field by field: with a value of its own, the answer is another
    than without, unless it only says how Tempo's servers divide the work; none is counted as unknown."""
    first = int(min(s["start"] for s in spans.values()) // 10**9)
    late, bank = first + 7200, '{ resource.service.name = "bank" }'
    near, ns = (first - 60, first + 60), 10**9  # seconds
    root = make_span(service="bank", attributes={"one": 1, "two": 2}, start=first * ns, end=first * ns + ns)
    server.send([root] + [make_span(service="bank", trace_id=root["trace_id"], parent=root["span_id"], start=first * ns, end=first * ns + ns)])
    tag = field(1, field(1, "service.name") + field(2, "bank"))
    cases = {  # method: (a query, {field: another value}, fields about servers)
        "Search": ({4: field(4, 20), 5: field(5, near[0]), 6: field(6, near[1]), 8: field(8, "{}"), 9: field(9, 3)},
                   {4: field(4, 1), 5: field(5, late), 6: field(6, near[0] + 1), 8: field(8, bank), 9: field(9, 1)},
                   {10: b"", 11: "x"}),
        "Search by tags": ({1: field(1, field(1, "service.name") + field(2, "shop")), 5: field(5, near[0]), 6: field(6, near[1])},
                           {1: tag, 2: field(2, 3600000), 3: field(3, 1)}, {}),
        "SearchTagsV2": ({3: field(3, near[0]), 4: field(4, near[1])},
                         {1: field(1, "resource"), 2: field(2, '{ resource.service.name = "nobody" }'), 3: field(3, late), 4: field(4, near[0] + 1), 5: field(5, 1)},
                         {6: 5, 7: b""}),
        "SearchTags": ({3: field(3, near[0]), 4: field(4, near[1])},
                       {1: field(1, "intrinsic"), 3: field(3, late), 4: field(4, near[0] + 1), 5: field(5, 1)}, {6: 5, 7: b""}),
        "SearchTagValuesV2": ({1: field(1, "resource.service.name"), 4: field(4, near[0]), 5: field(5, near[1])},
                              {1: field(1, "name"), 2: field(2, bank), 4: field(4, late), 5: field(5, near[0] + 1), 6: field(6, 1)}, {7: 5, 8: b""}),
        "SearchTagValues": ({1: field(1, "service.name"), 4: field(4, near[0]), 5: field(5, near[1])},
                            {1: field(1, "name"), 4: field(4, late), 5: field(5, near[0] + 1), 6: field(6, 1)}, {7: 5, 8: b""}),
        "MetricsQueryRange": ({1: field(1, "{} | rate() by (resource.service.name)"), 2: field(2, near[0] * ns), 3: field(3, near[1] * ns), 4: field(4, 60 * ns)},
                              {1: field(1, bank + " | rate()"), 2: field(2, late * ns), 3: field(3, near[0] * ns + 1), 4: field(4, 10 * ns),
                               8: field(8, "id"), 16: field(16, 1), 17: field(17, 1), 18: field(18, 1)},
                              {7: "recent", 9: 1, 10: 1, 11: "v", 13: 1, 14: 1, 15: b"", 19: "x"}),
        "MetricsQueryInstant": ({1: field(1, "{} | count_over_time()"), 2: field(2, near[0] * ns), 3: field(3, near[1] * ns)},
                                {1: field(1, bank + " | count_over_time()"), 2: field(2, late * ns), 3: field(3, near[0] * ns + 1)}, {})}
    before = unknown()
    for method, (given, others, servers) in cases.items():
        def answer(parts):
            status, _, _, message = server.grpc("/tempopb.StreamingQuerier/" + method.split()[0], b"".join(parts.values()))
            kept = [(n, v) for n, v in fields(message or b"") if n != 2 or method not in ("Search", "Search by tags")]  # how it went
            return status, kept
        base = answer(given)
        assert base[0] == 0, (method, base)
        for number, part in others.items():
            assert answer({**given, number: part}) != base, (method, number, base)
        for number, value in servers.items():
            assert answer({**given, number: field(number, value)}) == base, (method, number)
    assert unknown() == before


def flame(selector, status=200):
    answer = server.get("/api/v1/profile?format=folded&selector=" + urllib.parse.quote(selector))
    assert answer.status == status, (len(selector), answer.status, answer.text[:300])
    return answer.text


def test_a_long_selector_is_obeyed():
    """300 pod names: the answer was every service's flame graph, with 200."""
    def pods(n, last):
        return 'shop{pod=~"' + "|".join([f"checkout-7d9f8c6b5-{i:05}" for i in range(n)] + [last]) + '"}'
    assert flame(pods(300, "p1")) == "main;work 7\n"
    assert "main;work" not in server.get("/api/v1/profile?format=folded&selector=" +
                                         urllib.parse.quote(pods(300, "p2"))).text
    assert flame(pods(5000, "p1")) == "main;work 7\n", "some 128,000 bytes"
    assert "selector" in flame(pods(5500, "p1"), 414)
    code = subprocess.run([PROGRAM, "flame", pods(3000, "p1"), "--server", f"http://127.0.0.1:{server.port}"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert code.returncode == 0 and "work" in code.stdout, (code.stdout[:200], code.stderr[:300])


def test_too_long_is_said_with_the_name():
    long = "9" * 5000
    for path, word in (("/api/v1/services?from=", "from"), ("/api/v1/services?until=", "until"),
                       ("/api/v1/profile?app=shop&span_id=", "span"), ("/api/v1/profile?app=shop&max_nodes=", "max_nodes"),
                       ("/api/v1/profile?app=shop&trace_id=", "trace"), ("/api/v1/profile?app=shop&format=", "format"),
                       ("/api/search?q=%7B%7D&limit=", "limit"), ("/api/search?q=%7B%7D&start=1&end=", "end"),
                       ("/api/search?q=%7B%7D&minDuration=", "minDuration"), ("/api/search?since=", "since"),
                       ("/api/metrics/query_range?q=%7B%7D%7Crate()&step=", "step"),
                       ("/api/v2/search/tags?scope=", "scope"), ("/api/v1/frames/spans?service=shop&limit=", "limit"),
                       ("/pyroscope/render?query=process_cpu&max-nodes=", "max-nodes"),
                       ("/api/dependencies?endTs=", "endTs"), ("/api/traces?service=shop&limit=", "limit"),
                       ("/status/config?mode=", "mode")):
        answer = server.get(path + long)
        assert answer.status == 400 and word.lower() in answer.text.lower(), (path, answer.status, answer.text[:300])
        answer = server.get(path + "9" * 140000)
        assert answer.status == 414 and word in answer.text, (path, answer.status, answer.text[:300])
    assert json.loads(server.get("/api/v1/services?service=" + "x" * 5000).body)["services"] == []
    assert server.post("/ingest?format=folded&name=" + "x" * 140000, b"a 1\n", "text/plain").status == 414


tap.run(sys.modules[__name__])

"""pprof_make.py - small pprof files, an OTLP profile and multipart bodies, written field by field."""
import gzip
import time

from server import attribute, field, varint


def packed(number, values):
    return field(number, b"".join(varint(v) for v in values))


class Strings(dict):
    def __missing__(self, text):
        self[text] = len(self)
        return self[text]


def pprof(stacks, sample_type="cpu", unit="nanoseconds", when=None, period=10000000, zipped=True, seconds=10, file=""):
    """stacks: {"root;leaf": value} or {(path, (("span_id", "00f1"), ...)): value}; all on line 7 of `file`."""
    strings, functions = Strings(), Strings()
    strings[""]
    out = field(1, field(1, strings[sample_type]) + field(2, strings[unit]))
    samples = b""
    for key, value in stacks.items():
        path, labels = key if isinstance(key, tuple) else (key, ())
        ids = [functions[name] + 1 for name in reversed(path.split(";"))]
        body = packed(1, ids) + packed(2, [value])
        for name, text in labels:
            body += field(3, field(1, strings[name]) + field(2, strings[text]))
        samples += field(2, body)
    out += samples
    for name, number in functions.items():
        out += field(4, field(1, number + 1) + field(4, field(1, number + 1) + field(2, 7)))
        out += field(5, field(1, number + 1) + field(2, strings[name]) + field(3, strings[name])
                     + (field(4, strings[file]) if file else b""))
    out += field(9, int(when if when is not None else time.time_ns() - seconds * 10**9))
    out += field(10, seconds * 10**9)
    out += field(11, field(1, strings[sample_type]) + field(2, strings[unit])) + field(12, period)
    for text in strings:
        out += field(6, text)
    return gzip.compress(out) if zipped else out


def otlp(service, stacks, link=None, at_ns=None):
    """An ExportProfilesServiceRequest, protocol version 1.10; its profile lasts 10 s, until at_ns (now)."""
    strings = Strings()
    strings[""]
    functions, locations, stack_table = [b""], [b""], [b""]
    links = [b""] + ([field(1, link[0]) + field(2, link[1])] if link else [])
    places, samples = {}, b""
    for path, value in stacks.items():
        ids = []
        for name in reversed(path.split(";")):
            if name not in places:
                functions.append(field(1, strings[name]))
                locations.append(field(3, field(1, len(functions) - 1) + field(2, 1)))
                places[name] = len(locations) - 1
            ids.append(places[name])
        stack_table.append(packed(1, ids))
        body = field(1, len(stack_table) - 1) + packed(4, [value])
        samples += field(2, body + (field(3, 1) if link else b""))
    profile = field(1, field(1, strings["cpu"]) + field(2, strings["nanoseconds"])) + samples
    now = at_ns or time.time_ns()
    profile += varint(3 << 3 | 1) + (now - 10**10).to_bytes(8, "little") + field(4, 10**10)
    profile += field(5, field(1, strings["cpu"]) + field(2, strings["nanoseconds"])) + field(6, 10000000)
    resource = field(1, field(1, "service.name") + field(2, field(1, service)))
    dictionary = b"".join(field(1, b"") for _ in range(1))
    dictionary += b"".join(field(2, x) for x in locations) + b"".join(field(3, x) for x in functions)
    dictionary += b"".join(field(4, x) for x in links) + b"".join(field(5, s) for s in strings)
    dictionary += field(6, b"") + b"".join(field(7, x) for x in stack_table)
    return field(1, field(1, resource) + field(2, field(2, profile))) + field(2, dictionary)


def otlp_native(service, files, stacks, resource=(), span=None, htlhash="00" * 16, go_id="", at_ns=None):
    """The shape of OpenTelemetry's eBPF profiler: native frames are addresses in mapped files, without lines.

    files: {name: (build id, start, limit, offset)}; stacks: {((name, address), ...root first): count}. `span`, a pair of
    ids, is that of all samples; at_ns: the time of the first one, the others follow each other by 50 ms."""
    strings = Strings()
    strings[""]
    attrs, mappings, locations, stack_table = [b""], [b""], [b""], [b""]

    def attr(key, text):
        attrs.append(field(1, strings[key]) + field(2, field(1, text)))
        return len(attrs) - 1

    native, maps, places, samples = attr("profile.frame.type", "native"), {}, {}, b""
    for name, (build_id, start, limit, offset) in files.items():
        ids = [attr("process.executable.build_id.htlhash", htlhash)]
        ids += [attr("process.executable.build_id.go", go_id)] if go_id else []
        ids += [attr("process.executable.build_id.gnu", build_id)] if build_id else []
        mappings.append(field(1, start) + field(2, limit) + field(3, offset) + field(4, strings[name]) + packed(5, ids))
        maps[name] = len(mappings) - 1
    for stack, count in stacks.items():
        for frame in stack:
            if frame not in places:
                locations.append(field(1, maps[frame[0]]) + field(2, frame[1]) + packed(4, [native]))
                places[frame] = len(locations) - 1
        stack_table.append(packed(1, [places[frame] for frame in reversed(stack)]))
        now, step = (at_ns, 10**9 // 20) if at_ns else (time.time_ns() - 10**9, 1)
        stamps = b"".join((now + i * step).to_bytes(8, "little") for i in range(count))
        samples += field(2, field(1, len(stack_table) - 1) + (field(3, 1) if span else b"") + field(5, stamps))
    profile = field(1, field(1, strings["samples"]) + field(2, strings["count"])) + samples
    profile += varint(3 << 3 | 1) + (time.time_ns() - 10**10).to_bytes(8, "little") + field(4, 10**10)
    profile += field(5, field(1, strings["cpu"]) + field(2, strings["nanoseconds"])) + field(6, 10**9 // 20)
    known = dict(resource, **{"service.name": service})
    resource = b"".join(attribute(1, key, value) for key, value in known.items())
    links = field(4, b"") + (field(4, field(1, span[0]) + field(2, span[1])) if span else b"")
    dictionary = b"".join(field(1, x) for x in mappings) + b"".join(field(2, x) for x in locations)
    dictionary += field(3, b"") + links + b"".join(field(5, s) for s in strings)
    dictionary += b"".join(field(6, x) for x in attrs) + b"".join(field(7, x) for x in stack_table)
    return field(1, field(1, resource) + field(2, field(2, profile))) + field(2, dictionary)


def multipart(parts):
    """(content type, body); parts: {name: bytes}."""
    edge, out = "edge-of-a-part", b""
    for name, content in parts.items():
        out += (f"--{edge}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}.bin\"\r\n"
                "Content-Type: application/octet-stream\r\n\r\n").encode() + content + b"\r\n"
    return f"multipart/form-data; boundary={edge}", out + f"--{edge}--\r\n".encode()

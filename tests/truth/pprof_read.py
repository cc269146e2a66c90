"""Reads a pprof file as far as the truth programs need it."""
import gzip


def varint(b, at):
    v = shift = 0
    while True:
        byte = b[at]
        at += 1
        v |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return v, at


def fields(b):
    at = 0
    while at < len(b):
        tag, at = varint(b, at)
        if tag & 7 == 0:
            v, at = varint(b, at)
        else:
            assert tag & 7 == 2, tag
            size, at = varint(b, at)
            v, at = b[at:at + size], at + size
        yield tag >> 3, v


class Profile:
    """types: names of the values; samples: [(frames by name, innermost first, values, labels)]; comments"""

    def __init__(self, path):
        with gzip.open(path) as f:
            raw = f.read()
        strings, functions, locations, samples, types, comments = [], {}, {}, [], [], []
        for field, v in fields(raw):
            if field == 1:
                types.append(dict(fields(v))[1])
            elif field == 2:
                samples.append(list(fields(v)))
            elif field == 4:
                one = list(fields(v))
                locations[dict(one)[1]] = dict(fields(dict(one)[4]))[1]
            elif field == 5:
                one = dict(fields(v))
                functions[one[1]] = one[2]
            elif field == 6:
                strings.append(v.decode())
            elif field == 13:
                comments.append(v)
        assert strings[0] == ""
        self.types = [strings[t] for t in types]
        self.comments = [strings[c] for c in comments]
        self.samples = []
        for one in samples:
            frames = [strings[functions[locations[v]]] for field, v in one if field == 1]
            values = [v for field, v in one if field == 2]
            labels = {}
            for field, v in one:
                if field == 3:
                    label = dict(fields(v))
                    labels[strings[label[1]]] = strings[label[2]] if 2 in label else label.get(3, 0)
            assert len(values) == len(types), (values, types)
            self.samples.append((frames, values, labels))

    def sums(self, value_type, name_of):
        """What name_of(frames) says of each stack, with the sum of that value."""
        which, out = self.types.index(value_type), {}
        for frames, values, _ in self.samples:
            name = name_of(frames)
            if name:
                out[name] = out.get(name, 0) + values[which]
        return out

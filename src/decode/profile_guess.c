#include "decode/profile_guess.h"

#include "decode/json/json_shape.h"
#include "wire/pb.h"

/* Short, because a message has 240 bytes. */
#define READ_ARE                                                                             \
    "Read: JFR, pprof (also legacy, -raw, -traces), OTLP, V8, Chrome, Firefox, speedscope, " \
    "stackprof, perf, async-profiler, Austin, py-spy, Pyroscope, folded"

enum { MAX_LOOK_LEN = 57, MAX_LINE_LEN = 34 };

/* Other files that users send. */
static const char *name_of_other(sf_str bytes)
{
    static const struct {
        sf_str start;
        const char *name;
    } others[] = {
        {SF_STR("\x44\x54\x69\x4a"), "a jitdump"},
        {SF_STR("\x4a\x69\x54\x44"), "a jitdump"},
        {SF_STR("{\"snapshot\":"), "a V8 heap snapshot, no profile,"},
        {SF_STR("\x1f\x8b"), "gzip inside gzip"},
        {SF_STR("\x28\xb5\x2f\xfd"), "zstd inside a compressed body"},
        {SF_STR("\x7f"
                "ELF"),
         "a program"},
        {SF_STR("PK\x03\x04"), "a zip archive"},
        {SF_STR("BZh"), "bzip2"},
        {SF_STR("\xfd"
                "7zXZ"),
         "xz"},
        {SF_STR("PERFFILE"), "a perf.data file of perf before 3.2"},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (sf_str_starts(bytes, others[i].start))
            return others[i].name;
    }
    return NULL;
}

static bool skip_hex(sf_str *rest)
{
    size_t n = 0;
    if (sf_str_starts(*rest, SF_STR("0x")))
        *rest = sf_str_from_at(*rest, 2);
    while (n < rest->len &&
           ((rest->p[n] >= '0' && rest->p[n] <= '9') || (rest->p[n] >= 'a' && rest->p[n] <= 'f') ||
            (rest->p[n] >= 'A' && rest->p[n] <= 'F')))
        n++;
    if (n == 0 || n > 16 || n >= rest->len || rest->p[n] != ' ')
        return false;
    *rest = sf_str_from_at(*rest, n + 1);
    return true;
}

/* Addresses, lengths and names of compiled code, as runtimes write them to /tmp/perf-PID.map. */
static bool is_perf_map(sf_str bytes)
{
    sf_str rest = bytes, line;
    size_t n = 0;
    while (n < 3 && sf_str_split_next(&rest, '\n', &line) && line.len) {
        bool has_start = skip_hex(&line), has_len = has_start && skip_hex(&line);
        if (!has_len || !sf_str_trim(line).len)
            return false;
        n++;
    }
    return n > 0;
}

/* The part that Pyroscope's Java client sends with a recording: tables of numbers and labels or
 * texts. */
static bool is_label_table(sf_str bytes)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(bytes)), part;
    bool is_one = false;
    while (sf_pb_next(&pb)) {
        if (pb.tag != SF_PB_TAG(1, SF_PB_LEN) && pb.tag != SF_PB_TAG(2, SF_PB_LEN))
            return false;
        part = sf_pb_msg(&pb);
        if (!sf_pb_next(&part) || part.tag != SF_PB_TAG(1, SF_PB_VARINT))
            return false;
        is_one = true;
    }
    return is_one && sf_pb_ok(&pb);
}

/* The keys of each JSON format, the most specific one first. */
static const char *const json_formats[][4] = {
    {"nodes", "timeDeltas", "startTime", "endTime"},
    {"head", "samples", "timestamps", NULL},
    {"traceEvents", NULL},
    {"threads", "meta", NULL},
    {"shared", "profiles", "$schema", NULL},
    {"frames", "mode", "samples", NULL},
    {"flamebearer", "metadata", NULL},
    {"resourceProfiles", NULL},
};

static void profile_guess_add_key(struct sf_buf *out, unsigned *n, sf_str key)
{
    if (key.len > 24)
        key.len = 24;
    sf_buf_print(out, "%s`%.*s`", (*n)++ ? ", " : "", SF_STR_ARG(key));
}

/* "JSON with `nodes` and no `timeDeltas`" */
static bool print_nearest(struct sf_buf *out, const struct sf_json_shape *s)
{
    for (size_t i = 0; i < sizeof(json_formats) / sizeof(*json_formats); i++) {
        const char *missing = NULL;
        unsigned n = 0;
        if (s->is_array || !sf_json_shape_has(s, "", json_formats[i][0]))
            continue;
        sf_buf_print(out, "JSON with ");
        for (size_t k = 0; k < 4 && json_formats[i][k]; k++) {
            if (sf_json_shape_has(s, "", json_formats[i][k]))
                profile_guess_add_key(out, &n, sf_str_from(json_formats[i][k]));
            else if (!missing)
                missing = json_formats[i][k];
        }
        if (missing && !s->fault)
            sf_buf_print(out, " and no `%s`", missing);
        return true;
    }
    return false;
}

static void print_json(struct sf_buf *out, const struct sf_json_shape *s)
{
    unsigned n = 0;
    if (s->fault)
        sf_buf_print(out, "%s at byte %zu: ", s->is_cut ? "cut short" : "broken", s->fault_off);
    if (!print_nearest(out, s)) {
        sf_buf_print(out, "%s", s->is_array ? "a JSON array" : "JSON");
        if (s->n)
            sf_buf_print(out, s->is_array ? " of objects with " : " with ");
        else if (!s->is_array && !s->fault)
            sf_buf_print(out, " without any key");
        for (uint32_t i = 0; i < s->n && n < 3; i++) {
            if (s->is_array || !s->keys[i].outer.len)
                profile_guess_add_key(out, &n, s->keys[i].key);
        }
    }
}

static void print_bytes(struct sf_buf *out, sf_str bytes)
{
    sf_str rest = bytes, line = SF_STR_NONE;
    size_t n_odd = 0, n = bytes.len < 512 ? bytes.len : 512;
    for (size_t i = 0; i < n; i++)
        n_odd += (unsigned char)bytes.p[i] < ' ' && bytes.p[i] != '\n' && bytes.p[i] != '\r' &&
                 bytes.p[i] != '\t';
    if (n_odd > n / 20) {
        sf_buf_print(out, "%zu byte%s of binary data that begin", bytes.len,
                     bytes.len == 1 ? "" : "s");
        for (size_t i = 0; i < bytes.len && i < 4; i++)
            sf_buf_print(out, " %02x", (unsigned char)bytes.p[i]);
        return;
    }
    while (!line.len && sf_str_split_next(&rest, '\n', &line))
        line = sf_str_trim(line);
    if (line.len > MAX_LINE_LEN)
        sf_buf_print(out, "text that begins \"%.*s...\"", MAX_LINE_LEN, line.p);
    else
        sf_buf_print(out, "text that begins \"%.*s\"", SF_STR_ARG(line));
}

enum sf_err sf_profile_guess_fail(sf_str bytes, const struct sf_json_shape *shape,
                                  struct sf_why *why)
{
    const char *other = is_perf_map(bytes)      ? "a perf map (names of code), no profile,"
                        : is_label_table(bytes) ? "a table of labels without its JFR recording"
                                                : name_of_other(bytes);
    struct sf_buf look = {.max = 1000};
    enum sf_err err;
    if (other)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "profile: %s is not read. " READ_ARE, other);
    if (!sf_str_trim(bytes).len)
        return sf_fail(why, SF_ERR_INPUT, "profile: %s. " READ_ARE,
                       bytes.len ? "it contains only whitespace" : "it is empty");
    if (shape)
        print_json(&look, shape);
    else
        print_bytes(&look, bytes);
    sf_buf_add_u8(&look, 0);
    err = sf_fail(why, SF_ERR_INPUT, "profile: unknown profile format: %.*s. " READ_ARE,
                  MAX_LOOK_LEN, look.len ? (const char *)look.p : "");
    sf_buf_done(&look);
    return err;
}

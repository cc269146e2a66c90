/* The text that `perf script` prints, and Android's `simpleperf report-sample` alike:
 *
 *     COMM  PID/TID [CPU] TIME:  PERIOD EVENT:
 *             ADDR SYMBOL+0xOFF (MODULE)
 *             ...
 *     (blank line)
 *
 * Which of the columns are there depends on perf's version and on -F. A command's name may contain
 * blanks, digits and colons, so the time is searched first and the text before it is parsed from
 * the right. A single number is the thread. Without call graphs the frame follows the event on the
 * same line. "-F +srcline" puts "file:line" on a line of its own after each frame. Inlined calls
 * are lines of their own, or "a->b" in one.
 *
 * Frames are converted as by stackcollapse-perf: the command is the outermost frame, argument lists
 * are removed, a frame without a symbol is named after its module. Samples carry command and thread
 * if known. A line that does not match is counted and does not end a sample. */
#include <inttypes.h>

#include "base/limits.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "decode/frame_kind.h"
#include "decode/perf/perf_event.h"
#include "decode/sample_clock.h"
#include "decode/text_word.h"

enum { MAX_ARROWS = 64 }; /* inlined calls in one line */

struct header { /* header line of a sample */
    sf_str comm, event, rest;
    uint64_t tid, period;
    int64_t time_ns;
    bool has_period, has_time;
};

struct script {
    struct sf_profile_build *b;
    struct sf_perf_events events;
    struct sf_profile_list frames; /* indexes of locations, leaf first */
    struct header head;            /* of the open sample */
    bool is_open, has_clock, is_java;
    struct sf_sample_clock clock;
    struct sf_function last; /* the newest frame, for its source line */
    enum sf_frame_kind last_kind;
    bool has_last;
    uint64_t n_line;
};

/* --- header lines --- */

static bool perf_script_last_word(sf_str *rest, sf_str *out)
{
    size_t at, end = rest->len;
    while (end && sf_text_is_blank(rest->p[end - 1]))
        end--;
    for (at = end; at && !sf_text_is_blank(rest->p[at - 1]);)
        at--;
    *out = sf_str_part(*rest, at, end - at);
    rest->len = at;
    return out->len > 0;
}

/* "1410597.984841:": seconds, with 3 to 9 digits after the point. */
static bool perf_script_time_of(sf_str word, int64_t *out_ns)
{
    uint64_t s, part;
    size_t dot, n;
    if (word.len < 4 || word.p[word.len - 1] != ':' || !sf_str_find_char(word, '.', &dot))
        return false;
    n = word.len - 2 - dot;
    if (n < 3 || n > 9 || !sf_str_to_u64(sf_str_part(word, 0, dot), &s) || s > 9000000000 ||
        !sf_str_to_u64(sf_str_part(word, dot + 1, n), &part))
        return false;
    for (; n < 9; n++)
        part *= 10;
    *out_ns = (int64_t)(s * SF_NS_PER_S + part);
    return true;
}

/* "PID/TID" or "TID"; a thread of -1 means none. */
static bool perf_script_thread_of(sf_str word, uint64_t *out)
{
    size_t slash;
    uint64_t pid;
    if (!sf_str_find_char(word, '/', &slash))
        return sf_str_to_u64(word, out);
    return sf_str_to_u64(sf_str_part(word, 0, slash), &pid) &&
           sf_str_to_u64(sf_str_from_at(word, slash + 1), out);
}

static bool perf_script_is_cpu(sf_str word)
{
    uint64_t n;
    return word.len > 2 && word.p[0] == '[' && word.p[word.len - 1] == ']' &&
           sf_str_to_u64(sf_str_part(word, 1, word.len - 2), &n);
}

/* "COMM PID/TID [CPU]", and with -F the requested columns. */
static void take_left(sf_str left, struct header *h)
{
    sf_str before = left, word;
    h->comm = sf_str_trim(left);
    if (!perf_script_last_word(&before, &word))
        return;
    if (perf_script_is_cpu(word)) {
        h->comm = sf_str_trim(before);
        if (!perf_script_last_word(&before, &word))
            return;
    }
    if (perf_script_thread_of(word, &h->tid)) {
        h->comm = sf_str_trim(before);
        return;
    }
    /* -F +misc: letters after the thread give the mode in which it ran. */
    if (word.len <= 2 && perf_script_last_word(&before, &word) &&
        perf_script_thread_of(word, &h->tid))
        h->comm = sf_str_trim(before);
}

/* "PERIOD EVENT: REST" */
static bool take_right(sf_str right, struct header *h)
{
    sf_str word;
    if (!sf_text_word(&right, &word))
        return h->has_time; /* -F without the event */
    if (sf_str_to_u64(word, &h->period)) {
        h->has_period = true;
        if (!sf_text_word(&right, &word))
            return h->has_time;
    }
    if (word.len < 2 || word.p[word.len - 1] != ':')
        return false;
    h->event = sf_str_part(word, 0, word.len - 1);
    h->rest = sf_str_trim(right);
    return true;
}

/* Without a time: the first word that ends in a colon and follows a number. */
static bool find_event(sf_str line, struct header *h)
{
    sf_str rest = line, word, left = {line.p, 0};
    bool was_number = false;
    uint64_t n;
    while (sf_text_word(&rest, &word)) {
        size_t at = (size_t)(word.p - line.p);
        if (was_number && word.len > 1 && word.p[word.len - 1] == ':') {
            sf_str before = left, period;
            h->event = sf_str_part(word, 0, word.len - 1);
            h->rest = sf_str_trim(rest);
            /* "comm tid period event:", of which the thread is always present */
            if (perf_script_last_word(&before, &period) && sf_str_to_u64(period, &n) &&
                perf_script_last_word(&(sf_str){before.p, before.len}, &word) &&
                (perf_script_thread_of(word, &h->tid) || perf_script_is_cpu(word))) {
                h->period = n;
                h->has_period = true;
                left = before;
            }
            take_left(left, h);
            return h->tid || h->has_period;
        }
        was_number = perf_script_thread_of(word, &n) || perf_script_is_cpu(word);
        left.len = at + word.len;
    }
    return false;
}

static bool header_of(sf_str line, struct header *out)
{
    struct header h = {0};
    sf_str rest = line, word;
    for (unsigned i = 0; i < 64 && sf_text_word(&rest, &word); i++) {
        if (!perf_script_time_of(word, &h.time_ns))
            continue;
        h.has_time = true;
        take_left(sf_str_part(line, 0, (size_t)(word.p - line.p)), &h);
        if (!take_right(rest, &h))
            break;
        *out = h;
        return true;
    }
    if (h.has_time || !find_event(line, &h))
        return false;
    *out = h;
    return true;
}

/* --- frames --- */

struct frame {
    sf_str symbol, module;
};

static bool perf_script_is_hex(sf_str word)
{
    if (!word.len || word.len > 18)
        return false;
    for (size_t i = sf_str_starts(word, SF_STR("0x")) ? 2 : 0; i < word.len; i++) {
        if (sf_hex_digit(word.p[i]) < 0)
            return false;
    }
    return true;
}

/* The last group in parentheses, which may be nested: "(/usr/lib/x.so (deleted))". */
static void take_module(sf_str *text, sf_str *out)
{
    size_t at = text->len, open = 0;
    *out = SF_STR_NONE;
    if (!at || text->p[at - 1] != ')')
        return;
    while (at--) {
        open += text->p[at] == ')';
        open -= text->p[at] == '(';
        if (!open)
            break;
    }
    if (open || (at && !sf_text_is_blank(text->p[at - 1])))
        return;
    *out = sf_str_part(*text, at + 1, text->len - at - 2);
    *text = sf_str_trim(sf_str_part(*text, 0, at));
}

static void strip_offset(sf_str *s)
{
    size_t at = s->len;
    while (at && sf_hex_digit(s->p[at - 1]) >= 0)
        at--;
    if (at < s->len && at > 3 && s->p[at - 1] == 'x' && s->p[at - 2] == '0' && s->p[at - 3] == '+')
        s->len = at - 3;
}

/* False: not a frame. */
static bool perf_script_frame_of(sf_str line, struct frame *out)
{
    sf_str text = sf_str_trim(line), rest = text, word;
    if (!sf_text_word(&rest, &word))
        return false;
    if (perf_script_is_hex(word))
        text = sf_str_trim(rest);
    else if (text.p[text.len - 1] != ')')
        return false;
    take_module(&text, &out->module);
    strip_offset(&text);
    strip_offset(&out->module);
    if (!out->module.len && !text.len && !perf_script_is_hex(word))
        return false;
    out->symbol = text.len ? text : SF_STR("[unknown]");
    return true;
}

static sf_str perf_script_base_name(sf_str path)
{
    size_t at = path.len;
    while (at && path.p[at - 1] != '/')
        at--;
    return at < path.len ? sf_str_from_at(path, at) : path;
}

/* Where the argument list begins. "(anonymous namespace)", Go's "(*T)." and "operator()" are part
 * of a name. */
static size_t arguments_at(sf_str name)
{
    size_t from = 0, at;
    sf_str call = SF_STR("operator()");
    while (sf_str_find_char(sf_str_from_at(name, from), '(', &at)) {
        sf_str rest = sf_str_from_at(name, from + at);
        at += from;
        if (sf_str_starts(rest, SF_STR("(anonymous namespace)")))
            from = at + 21;
        else if (at >= 8 && sf_str_starts(sf_str_from_at(name, at - 8), call))
            from = at + 2;
        else if (at && name.p[at - 1] == '.')
            return name.len;
        else
            return at;
    }
    return name.len;
}

/* Replaces semicolons by colons and removes quotes and arguments, as stackcollapse-perf does. */
static sf_str tidy(struct script *s, sf_str name)
{
    size_t len = 0, cut = arguments_at(name);
    char *to;
    name.len = cut;
    if (s->is_java && name.len > 1 && name.p[0] == 'L' && sf_str_find_char(name, '/', &cut))
        name = sf_str_from_at(name, 1);
    for (size_t i = 0; i < name.len && len == 0; i++)
        len = name.p[i] == ';' || name.p[i] == '"' || name.p[i] == '\'';
    if (!len)
        return name;
    to = sf_profile_new(s->b, name.len, 1);
    len = 0;
    for (size_t i = 0; to && i < name.len; i++) {
        if (name.p[i] != '"' && name.p[i] != '\'')
            to[len++] = name.p[i] == ';' ? ':' : name.p[i];
    }
    return to ? (sf_str){to, len} : SF_STR_NONE;
}

/* Code generated at run time: perf knows its names from a map file that the runtime wrote. */
static enum sf_frame_kind kind_of_jit(const struct script *s, sf_str symbol)
{
    static const sf_str v8[] = {SF_STR("LazyCompile:"), SF_STR("JS:"),     SF_STR("Function:"),
                                SF_STR("Builtin:"),     SF_STR("Stub:"),   SF_STR("RegExp:"),
                                SF_STR("Script:"),      SF_STR("Bytecode")};
    for (size_t i = 0; i < sizeof(v8) / sizeof(*v8); i++) {
        if (sf_str_starts(symbol, v8[i]))
            return SF_FRAME_V8;
    }
    if (sf_str_starts(symbol, SF_STR("py::")))
        return SF_FRAME_PYTHON;
    return s->is_java ? SF_FRAME_JVM : SF_FRAME_UNKNOWN;
}

static enum sf_frame_kind perf_script_kind_of(const struct script *s, const struct frame *f)
{
    bool is_unknown = sf_str_eq(f->module, SF_STR("[unknown]"));
    if (sf_str_eq(f->module, SF_STR("[vdso]")) || sf_str_eq(f->module, SF_STR("inlined")))
        return SF_FRAME_NATIVE;
    if (sf_str_starts(f->module, SF_STR("[JIT")) ||
        (sf_str_starts(f->module, SF_STR("/tmp/perf-")) && sf_str_ends(f->module, SF_STR(".map"))))
        return kind_of_jit(s, f->symbol);
    if ((sf_str_starts(f->module, SF_STR("[")) && !is_unknown) ||
        sf_str_ends(f->module, SF_STR("vmlinux")) || sf_str_ends(f->module, SF_STR(".ko")))
        return SF_FRAME_KERNEL;
    return f->module.len && !is_unknown ? SF_FRAME_NATIVE : SF_FRAME_UNKNOWN;
}

static void perf_script_push(struct script *s, sf_str name, sf_str module, enum sf_frame_kind kind)
{
    uint32_t *to = sf_profile_list_more(s->b, &s->frames, sizeof(*to));
    struct sf_line line;
    struct sf_location l = {
        .mapping = SF_NONE, .lines = &line, .n_lines = 1, .kind = (uint8_t)kind};
    if (!to)
        return;
    s->last = (struct sf_function){.name = name};
    s->last_kind = kind;
    s->has_last = true;
    if (module.len && module.p[0] != '[')
        l.mapping = sf_profile_build_mapping(s->b, &(struct sf_mapping){.file = module});
    line = (struct sf_line){sf_profile_build_function(s->b, &s->last), 0};
    if (line.function == SF_NONE)
        return;
    *to = sf_profile_build_location(s->b, &l);
    s->frames.n += *to != SF_NONE;
}

/* The position of the last "->" that is not "operator->". */
static bool last_arrow(sf_str text, size_t *out)
{
    sf_str call = SF_STR("operator");
    for (size_t i = text.len; i > 2; i--) {
        if (text.p[i - 1] != '>' || text.p[i - 2] != '-')
            continue;
        *out = i - 2;
        return !sf_str_ends(sf_str_part(text, 0, i - 2), call);
    }
    return false;
}

static void perf_script_add_frame(struct script *s, const struct frame *f)
{
    enum sf_frame_kind kind = perf_script_kind_of(s, f);
    sf_str module = sf_str_eq(f->module, SF_STR("inlined")) ? SF_STR_NONE : f->module;
    sf_str rest = f->symbol, name;
    size_t at;
    if (sf_str_starts(f->symbol, SF_STR("(")) &&
        !sf_str_starts(f->symbol, SF_STR("(anonymous namespace)")))
        return; /* perf's own remark: "(inlined)" of old versions */
    if (sf_str_eq(f->symbol, SF_STR("[unknown]"))) {
        name = perf_script_base_name(module);
        if (name.len && name.p[0] != '[' &&
            !sf_arena_print(s->b->a, &name, "[%.*s]", SF_STR_ARG(perf_script_base_name(module))))
            s->b->is_full = true;
        perf_script_push(s, name.len ? name : SF_STR("[unknown]"), module, kind);
        return;
    }
    /* "a->b": b was inlined into a, or called by it in a place that left no frame. */
    for (unsigned n = 0; n < MAX_ARROWS && last_arrow(rest, &at); n++) {
        perf_script_push(s, tidy(s, sf_str_from_at(rest, at + 2)), module, kind);
        rest.len = at;
    }
    name = tidy(s, rest);
    perf_script_push(s, name.len ? name : f->symbol, module, kind);
}

/* A source line after a frame: "main.c:12", "main.c:12 (inlined)", or, if unknown, "??:0" or
 * "[module][address]". */
static bool take_source(struct script *s, sf_str line)
{
    sf_str text = sf_str_trim(line), inlined = SF_STR(" (inlined)");
    size_t at;
    uint64_t n;
    if (sf_str_ends(text, inlined))
        text.len -= inlined.len;
    if (s->has_last && (sf_str_starts(text, SF_STR("??:")) ||
                        (sf_str_starts(text, SF_STR("[")) && sf_str_ends(text, SF_STR("]")))))
        return true;
    for (at = text.len; at && text.p[at - 1] != ':';)
        at--;
    if (!s->has_last || !s->frames.n || at < 2 || !sf_str_to_u64(sf_str_from_at(text, at), &n) ||
        n > INT32_MAX)
        return false;
    s->last.file = sf_str_part(text, 0, at - 1);
    ((uint32_t *)s->frames.items)[s->frames.n - 1] = sf_profile_build_frame(
        s->b, &s->last, (uint32_t)n, s->last_kind);
    s->has_last = false;
    return true;
}

/* --- samples --- */

/* The command as a frame: blanks are replaced, because in folded text they end a name. */
static sf_str perf_script_root_name(struct script *s, sf_str comm)
{
    char *to;
    if (!sf_str_find_char(comm, ' ', &(size_t){0}) && !sf_str_find_char(comm, '\t', &(size_t){0}))
        return comm;
    to = sf_profile_new(s->b, comm.len, 1);
    for (size_t i = 0; to && i < comm.len; i++)
        to[i] = sf_text_is_blank(comm.p[i]) ? '_' : comm.p[i];
    return to ? (sf_str){to, comm.len} : SF_STR_NONE;
}

static void perf_script_close_sample(struct script *s)
{
    const struct header *h = &s->head;
    struct sf_sample sample = {.count = 1, .thread = h->tid};
    if (!s->is_open)
        return;
    s->is_open = false;
    if (h->comm.len)
        perf_script_push(s, perf_script_root_name(s, h->comm), SF_STR_NONE, SF_FRAME_UNKNOWN);
    sample.series = sf_perf_events_find(&s->events, h->event, h->has_period);
    if (sample.series == SF_NONE && !s->b->is_full) {
        sf_profile_build_drop(s->b, &s->b->drops.n_samples,
                              "perf script: more than %d events, at line %" PRIu64,
                              SF_LIMIT_SAMPLE_TYPES, s->n_line);
        return;
    }
    sample.value = h->period && h->period <= INT64_MAX ? (int64_t)h->period : 1;
    sample.thread_name = sf_profile_clean(s->b, h->comm);
    sample.stack = sf_profile_build_stack(s->b, s->frames.items, s->frames.n);
    if (h->has_time)
        sf_sample_clock_stamp(&s->clock, h->time_ns, 0, &sample);
    sf_profile_build_sample(s->b, &s->b->me, &sample);
}

static bool perf_script_open_sample(struct script *s, sf_str line)
{
    struct header h;
    struct frame f;
    sf_str rest, word;
    if (!header_of(line, &h))
        return false;
    perf_script_close_sample(s);
    s->head = h;
    s->is_open = true;
    s->has_last = false;
    s->frames.n = 0;
    s->is_java = sf_str_starts(h.comm, SF_STR("java"));
    if (h.has_time && !s->has_clock) {
        s->clock = sf_sample_clock_init(s->b, h.time_ns);
        s->has_clock = true;
    }
    rest = h.rest;
    if (sf_text_word(&rest, &word) && perf_script_is_hex(word) &&
        perf_script_frame_of(h.rest, &f) && f.module.len) {
        perf_script_add_frame(s, &f); /* no call graph: the sample consists of this line */
        perf_script_close_sample(s);
    }
    return true;
}

/* Source lines are indented by two blanks, frames by a tab or many blanks. */
static bool perf_script_is_source(sf_str line)
{
    return line.len > 2 && sf_str_starts(line, SF_STR("  ")) && !sf_text_is_blank(line.p[2]);
}

static void perf_script_take_line(struct script *s, sf_str line)
{
    struct frame f;
    bool is_indented = sf_text_is_blank(line.p[0]);
    if (sf_str_find(line, SF_STR(": PERF_RECORD_"), &(size_t){0})) {
        perf_script_close_sample(s); /* other output, such as that of --show-mmap-events */
        return;
    }
    if (s->is_open && is_indented) {
        if (perf_script_is_source(line) && take_source(s, line))
            return;
        if (sf_str_starts(line, SF_STR(" ABI:")))
            return; /* registers */
        if (s->frames.n > SF_LIMIT_FRAMES * 4) {
            s->b->drops.n_frames++;
            return;
        }
        if (perf_script_frame_of(line, &f)) {
            perf_script_add_frame(s, &f);
            return;
        }
        if (take_source(s, line))
            return;
    }
    if (line.p[0] == '#' || perf_script_open_sample(s, line))
        return;
    sf_profile_build_drop(s->b, &s->b->drops.n_parts,
                          "perf script: line %" PRIu64 " is neither a sample nor a frame",
                          s->n_line);
}

static sf_str without_cr(sf_str line)
{
    return sf_str_ends(line, SF_STR("\r")) ? sf_str_part(line, 0, line.len - 1) : line;
}

static enum sf_err perf_script_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct script *s = sf_profile_new(b, 1, sizeof(*s));
    sf_str rest = bytes, line;
    if (!s)
        return SF_OK; /* finish() reports the error */
    s->b = s->events.b = b;
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        s->n_line++;
        line = without_cr(line);
        if (!sf_str_trim(line).len)
            perf_script_close_sample(s);
        else if (line.len > SF_LIMIT_LINE_LEN)
            sf_profile_build_drop(b, &b->drops.n_parts,
                                  "perf script: line %" PRIu64 " has %zu bytes", s->n_line,
                                  line.len);
        else
            perf_script_take_line(s, line);
    }
    perf_script_close_sample(s); /* often nothing follows the last frame */
    return SF_OK;
}

/* Whether the first lines contain a sample, with a frame or without any. */
static bool is_perf_script(sf_str bytes)
{
    sf_str rest = sf_str_part(bytes, 0, 256 * 1024), line;
    struct header h;
    struct frame f;
    bool is_open = false;
    for (unsigned i = 0; i < 500 && sf_str_split_next(&rest, '\n', &line); i++) {
        line = without_cr(line);
        if (!sf_str_trim(line).len) {
            if (is_open && h.has_time && h.event.len)
                return true; /* a sample without a stack */
            continue;
        }
        if (line.p[0] == '#')
            continue;
        if (is_open && sf_text_is_blank(line.p[0]) && perf_script_frame_of(line, &f) &&
            (f.module.len || h.has_time))
            return true;
        is_open = header_of(line, &h);
        if (is_open && h.has_time && h.event.len && perf_script_frame_of(h.rest, &f) &&
            f.module.len)
            return true;
    }
    return is_open && h.has_time && h.event.len;
}

const struct sf_profile_format sf_perf_script_format = {
    .name = "perf-script",
    .also = "perf_script,perf",
    .is = is_perf_script,
    .decode = perf_script_decode,
};

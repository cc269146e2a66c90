/* The normalised form of a profile batch, version 2. Numbers and strings as in model/codec.h; zz is
 * zigzag; an index that may be SF_NONE is written plus one, 0 is none.
 *
 *     batch    := u8 version | u32le n_strings | n_mappings n_functions n_locations n_stacks
 *                 n_processes n_series n_samples
 *                 mapping* function* location* stack* process* series* sample*
 *     mapping  := file:string build_id:string start limit file_off
 *     function := name:string system_name:string file:string start_line
 *     location := mapping + 1, addr, u8 kind, n_lines (function line)*
 *     stack    := n zz(location - previous location)*
 *     process  := service:string key:string u8 is_guess
 *     series   := service:string type:5 strings n_labels (key:string val:string)*
 *                 process + 1, zz time, zz duration, zz period, id:16 bytes,
 *                 u8 is_request | is_cumulative << 1 | is_diff << 2
 *     sample   := u8 flags, zz(series - previous), zz(stack - previous), zz value,
 *                 count if COUNT; trace_id:16 bytes if TRACE; span_id:u64le if SPAN;
 *                 thread:u64le, u8 is_kernel_thread, runtime_thread and thread_name:string if
 *                 THREAD; zz(start - previous start) and
 *                 zz length if TIME; u8 state if STATE; LENT alone says is_lent
 *
 * Version 1 had no is_kernel_thread, runtime_thread and is_diff; it can still be read, because logs
 * may contain it.
 *
 * Most samples of a profile differ from the previous one in stack and value only: about four bytes
 * before compression. Valid if and only if every count fits the remaining bytes, every index is in
 * its list, kinds, states and flags are known, labels are sorted and unique, and no bytes are left
 * at the end. */
#include "model/profile_codec.h"

#include "base/limits.h"
#include "base/num.h"
#include "model/codec.h"

enum { VERSION = 2, STEP_MAX = 5 /* maximum length of an index difference in bytes */ };
enum { /* flags of a sample */
       HAS_COUNT = 1 << 0,
       HAS_TRACE = 1 << 1,
       HAS_SPAN = 1 << 2,
       HAS_THREAD = 1 << 3,
       HAS_TIME = 1 << 4,
       HAS_STATE = 1 << 5,
       IS_LENT = 1 << 6,
       ALL_FLAGS = (1 << 7) - 1
};

/* ---- encode ---- */

static void put_place(struct sf_buf *out, uint32_t place)
{
    sf_buf_add_varint(out, place == SF_NONE ? 0 : (uint64_t)place + 1);
}

/* Half of all bytes are frames: space is reserved once per stack, not per byte. */
static void put_stack(struct sf_buf *out, const struct sf_stack *s)
{
    int64_t before = 0;
    uint8_t *to;
    sf_buf_add_varint(out, s->n);
    if (!sf_buf_reserve(out, (size_t)s->n * STEP_MAX))
        return;
    to = out->p + out->len;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t step = s->locations[i] - before;
        uint64_t v = (uint64_t)step << 1 ^ (uint64_t)(step >> 63);
        for (; v > 127; v >>= 7)
            *to++ = (uint8_t)(v | 128);
        *to++ = (uint8_t)v;
        before = s->locations[i];
    }
    out->len = (size_t)(to - out->p);
}

static void put_symbols(struct sf_encoder *e, const struct sf_profile_batch *b)
{
    for (uint32_t i = 0; i < b->n_mappings; i++) {
        sf_codec_put_str(e, b->mappings[i].file);
        sf_codec_put_str(e, b->mappings[i].build_id);
        sf_buf_add_varint(e->out, b->mappings[i].start);
        sf_buf_add_varint(e->out, b->mappings[i].limit);
        sf_buf_add_varint(e->out, b->mappings[i].file_off);
    }
    for (uint32_t i = 0; i < b->n_functions; i++) {
        sf_codec_put_str(e, b->functions[i].name);
        sf_codec_put_shared(e, b->functions[i].system_name); /* usually empty */
        sf_codec_put_shared(e, b->functions[i].file);
        sf_buf_add_varint(e->out, b->functions[i].start_line);
    }
    for (uint32_t i = 0; i < b->n_locations; i++) {
        const struct sf_location *l = &b->locations[i];
        put_place(e->out, l->mapping);
        sf_buf_add_varint(e->out, l->addr);
        sf_buf_add_u8(e->out, l->kind);
        sf_buf_add_varint(e->out, l->n_lines);
        for (uint32_t k = 0; k < l->n_lines; k++) {
            sf_buf_add_varint(e->out, l->lines[k].function);
            sf_buf_add_varint(e->out, l->lines[k].line);
        }
    }
    for (uint32_t i = 0; i < b->n_stacks; i++)
        put_stack(e->out, &b->stacks[i]);
}

static void profile_codec_put_series(struct sf_encoder *e, const struct sf_series *s)
{
    sf_codec_put_str(e, s->service);
    sf_codec_put_str(e, s->type.name);
    sf_codec_put_str(e, s->type.sample_type);
    sf_codec_put_str(e, s->type.sample_unit);
    sf_codec_put_str(e, s->type.period_type);
    sf_codec_put_str(e, s->type.period_unit);
    sf_buf_add_varint(e->out, s->n_labels);
    for (uint32_t i = 0; i < s->n_labels; i++) {
        sf_codec_put_str(e, s->labels[i].key);
        sf_codec_put_str(e, s->labels[i].val);
    }
    put_place(e->out, s->process);
    sf_codec_put_zigzag(e->out, s->time_ns);
    sf_codec_put_zigzag(e->out, s->duration_ns);
    sf_codec_put_zigzag(e->out, s->period);
    sf_buf_add(e->out, s->id.b, sizeof(s->id.b));
    sf_buf_add_u8(e->out, (uint8_t)((s->is_request ? 1 : 0) | (s->is_cumulative ? 2 : 0) |
                                    (s->is_diff ? 4 : 0)));
}

static uint8_t profile_codec_flags_of(const struct sf_sample *s)
{
    unsigned flags = 0;
    flags |= s->count != 1 ? HAS_COUNT : 0;
    flags |= sf_trace_id_is_zero(s->trace_id) ? 0 : HAS_TRACE;
    flags |= s->span_id ? HAS_SPAN : 0;
    flags |= s->thread || s->thread_name.len ? HAS_THREAD : 0;
    flags |= s->has_time ? HAS_TIME : 0;
    flags |= s->state ? HAS_STATE : 0;
    flags |= s->is_lent ? IS_LENT : 0;
    return (uint8_t)flags;
}

static void put_samples(struct sf_encoder *e, const struct sf_profile_batch *b)
{
    static const struct sf_sample none;
    const struct sf_sample *before = &none;
    uint64_t start_ns = 0;
    for (uint32_t i = 0; i < b->n_samples; i++) {
        const struct sf_sample *s = &b->samples[i];
        uint8_t flags = profile_codec_flags_of(s);
        sf_buf_add_u8(e->out, flags);
        sf_codec_put_zigzag(e->out, (int64_t)s->series - before->series);
        sf_codec_put_zigzag(e->out, (int64_t)s->stack - before->stack);
        sf_codec_put_zigzag(e->out, s->value);
        if (flags & HAS_COUNT)
            sf_buf_add_varint(e->out, s->count);
        if (flags & HAS_TRACE)
            sf_buf_add(e->out, s->trace_id.b, sizeof(s->trace_id.b));
        if (flags & HAS_SPAN)
            sf_buf_add_u64le(e->out, s->span_id);
        if (flags & HAS_THREAD) {
            sf_buf_add_u64le(e->out, s->thread);
            sf_buf_add_u8(e->out, s->is_kernel_thread);
            sf_buf_add_varint(e->out, s->runtime_thread);
            sf_codec_put_str(e, s->thread_name);
        }
        if (flags & HAS_TIME) {
            sf_codec_put_zigzag(e->out, (int64_t)((uint64_t)s->start_ns - start_ns));
            sf_codec_put_zigzag(e->out, s->length_ns);
            start_ns = (uint64_t)s->start_ns;
        }
        if (flags & HAS_STATE)
            sf_buf_add_u8(e->out, s->state);
        before = s;
    }
}

void sf_profile_codec_encode(const struct sf_profile_batch *batch, struct sf_buf *out)
{
    struct sf_encoder e;
    sf_codec_put_begin(&e, VERSION, out);
    sf_codec_put_expect(&e, batch->n_functions);
    sf_buf_add_varint(out, batch->n_mappings);
    sf_buf_add_varint(out, batch->n_functions);
    sf_buf_add_varint(out, batch->n_locations);
    sf_buf_add_varint(out, batch->n_stacks);
    sf_buf_add_varint(out, batch->n_processes);
    sf_buf_add_varint(out, batch->n_series);
    sf_buf_add_varint(out, batch->n_samples);
    put_symbols(&e, batch);
    for (uint32_t i = 0; i < batch->n_processes; i++) {
        sf_codec_put_str(&e, batch->processes[i].service);
        sf_codec_put_str(&e, batch->processes[i].key);
        sf_buf_add_u8(out, batch->processes[i].is_guess);
    }
    for (uint32_t i = 0; i < batch->n_series; i++)
        profile_codec_put_series(&e, &batch->series[i]);
    put_samples(&e, batch);
    sf_codec_put_end(&e);
}

/* ---- decode ---- */

static bool get_bool(struct sf_decoder *d)
{
    uint8_t v = sf_codec_get_u8(d);
    if (v > 1)
        sf_codec_get_fail(d, "a truth value that is neither");
    return v == 1;
}

/* An index into a list of `n`, or none. */
static uint32_t get_place(struct sf_decoder *d, uint32_t n)
{
    uint64_t v = sf_codec_get_varint(d);
    if (v > n) {
        sf_codec_get_fail(d, "a place behind its list");
        return SF_NONE;
    }
    return v ? (uint32_t)(v - 1) : SF_NONE;
}

/* `before` plus a difference, which must be an index into a list of `n`. */
static uint32_t get_step(struct sf_decoder *d, uint32_t before, uint32_t n)
{
    uint64_t v = (uint64_t)sf_codec_get_zigzag(d) + before;
    if (!d->fault && v >= n)
        sf_codec_get_fail(d, "a place behind its list");
    return d->fault ? 0 : (uint32_t)v;
}

static struct sf_location get_location(struct sf_decoder *d, const struct sf_profile_batch *b)
{
    struct sf_location l = {.mapping = get_place(d, b->n_mappings)};
    struct sf_line *lines;
    l.addr = sf_codec_get_varint(d);
    l.kind = sf_codec_get_u8(d);
    if (l.kind >= SF_FRAME_KINDS_SENT)
        sf_codec_get_fail(d, "an unknown kind of frame");
    l.n_lines = sf_codec_get_count(d, 2);
    lines = sf_codec_get_list(d, l.n_lines, sizeof(*lines));
    for (uint32_t i = 0; i < l.n_lines && !d->fault; i++) {
        lines[i].function = sf_codec_get_u32(d);
        lines[i].line = sf_codec_get_u32(d);
        if (lines[i].function >= b->n_functions)
            sf_codec_get_fail(d, "a function behind its list");
    }
    l.lines = lines;
    return l;
}

static struct sf_stack get_stack(struct sf_decoder *d, const struct sf_profile_batch *b)
{
    struct sf_stack s = {.n = sf_codec_get_count(d, 1)};
    uint32_t *locations;
    uint32_t before = 0;
    if (s.n > SF_LIMIT_FRAMES)
        sf_codec_get_fail(d, "a stack of too many frames");
    locations = sf_codec_get_list(d, d->fault ? 0 : s.n, sizeof(*locations));
    for (uint32_t i = 0; i < s.n && !d->fault; i++)
        before = locations[i] = get_step(d, before, b->n_locations);
    s.locations = locations;
    return s;
}

static void get_symbols(struct sf_decoder *d, struct sf_profile_batch *b)
{
    struct sf_mapping *mappings = sf_codec_get_list(d, b->n_mappings, sizeof(*mappings));
    struct sf_function *functions = sf_codec_get_list(d, b->n_functions, sizeof(*functions));
    struct sf_location *locations = sf_codec_get_list(d, b->n_locations, sizeof(*locations));
    struct sf_stack *stacks = sf_codec_get_list(d, b->n_stacks, sizeof(*stacks));

    b->mappings = mappings;
    b->functions = functions;
    b->locations = locations;
    b->stacks = stacks;
    for (uint32_t i = 0; i < b->n_mappings && !d->fault; i++) {
        mappings[i].file = sf_codec_get_str(d);
        mappings[i].build_id = sf_codec_get_str(d);
        mappings[i].start = sf_codec_get_varint(d);
        mappings[i].limit = sf_codec_get_varint(d);
        mappings[i].file_off = sf_codec_get_varint(d);
    }
    for (uint32_t i = 0; i < b->n_functions && !d->fault; i++) {
        functions[i].name = sf_codec_get_str(d);
        functions[i].system_name = sf_codec_get_str(d);
        functions[i].file = sf_codec_get_str(d);
        functions[i].start_line = sf_codec_get_u32(d);
    }
    for (uint32_t i = 0; i < b->n_locations && !d->fault; i++)
        locations[i] = get_location(d, b);
    for (uint32_t i = 0; i < b->n_stacks && !d->fault; i++)
        stacks[i] = get_stack(d, b);
}

static void get_labels(struct sf_decoder *d, struct sf_series *s)
{
    uint32_t n = sf_codec_get_count(d, 2);
    struct sf_label *labels = sf_codec_get_list(d, n, sizeof(*labels));
    for (uint32_t i = 0; i < n && !d->fault; i++) {
        labels[i].key = sf_codec_get_str(d);
        labels[i].val = sf_codec_get_str(d);
        if (i && sf_str_cmp(labels[i - 1].key, labels[i].key) >= 0)
            sf_codec_get_fail(d, "labels out of order");
    }
    s->labels = labels;
    s->n_labels = labels ? n : 0;
}

static void get_series(struct sf_decoder *d, const struct sf_profile_batch *b, struct sf_series *s)
{
    uint8_t flags;
    s->service = sf_codec_get_str(d);
    s->type.name = sf_codec_get_str(d);
    s->type.sample_type = sf_codec_get_str(d);
    s->type.sample_unit = sf_codec_get_str(d);
    s->type.period_type = sf_codec_get_str(d);
    s->type.period_unit = sf_codec_get_str(d);
    get_labels(d, s);
    s->process = get_place(d, b->n_processes);
    s->time_ns = sf_codec_get_zigzag(d);
    s->duration_ns = sf_codec_get_zigzag(d);
    s->period = sf_codec_get_zigzag(d);
    memcpy(s->id.b, sf_codec_get_raw(d, sizeof(s->id.b)), sizeof(s->id.b));
    flags = sf_codec_get_u8(d);
    if (flags > (d->version > 1 ? 7 : 3))
        sf_codec_get_fail(d, "unknown flags of a series");
    s->is_request = flags & 1;
    s->is_cumulative = flags & 2;
    s->is_diff = flags & 4;
}

static void get_sample(struct sf_decoder *d, const struct sf_profile_batch *b,
                       const struct sf_sample *before, uint64_t *io_start_ns, struct sf_sample *s)
{
    uint8_t flags = sf_codec_get_u8(d);
    if (flags > ALL_FLAGS)
        sf_codec_get_fail(d, "unknown flags of a sample");
    s->series = get_step(d, before ? before->series : 0, b->n_series);
    s->stack = get_step(d, before ? before->stack : 0, b->n_stacks);
    s->value = sf_codec_get_zigzag(d);
    s->count = flags & HAS_COUNT ? sf_codec_get_u32(d) : 1;
    if (flags & HAS_TRACE)
        memcpy(s->trace_id.b, sf_codec_get_raw(d, sizeof(s->trace_id.b)), sizeof(s->trace_id.b));
    if (flags & HAS_SPAN)
        s->span_id = sf_codec_get_u64le(d);
    if (flags & HAS_THREAD) {
        s->thread = sf_codec_get_u64le(d);
        s->is_kernel_thread = d->version > 1 && get_bool(d);
        s->runtime_thread = d->version > 1 ? sf_codec_get_varint(d) : 0;
        s->thread_name = sf_codec_get_str(d);
    }
    if (flags & HAS_TIME) {
        *io_start_ns += (uint64_t)sf_codec_get_zigzag(d);
        s->start_ns = (int64_t)*io_start_ns;
        s->length_ns = sf_codec_get_zigzag(d);
        s->has_time = true;
    }
    if (flags & HAS_STATE)
        s->state = sf_codec_get_u8(d);
    s->is_lent = flags & IS_LENT;
    if (s->state >= SF_STATES)
        sf_codec_get_fail(d, "an unknown state");
}

/* minimum length of each in bytes */
enum {
    LEAST_MAPPING = 5,
    LEAST_FUNCTION = 4,
    LEAST_LOCATION = 4,
    LEAST_SERIES = 27,
    LEAST_SAMPLE = 4
};

static void profile_codec_get_batch(struct sf_decoder *d, struct sf_profile_batch *b)
{
    struct sf_process *processes;
    struct sf_series *series;
    struct sf_sample *samples;
    uint64_t start_ns = 0;

    b->n_mappings = sf_codec_get_count(d, LEAST_MAPPING);
    b->n_functions = sf_codec_get_count(d, LEAST_FUNCTION);
    b->n_locations = sf_codec_get_count(d, LEAST_LOCATION);
    b->n_stacks = sf_codec_get_count(d, 1);
    b->n_processes = sf_codec_get_count(d, 3);
    b->n_series = sf_codec_get_count(d, LEAST_SERIES);
    b->n_samples = sf_codec_get_count(d, LEAST_SAMPLE);
    get_symbols(d, b);
    b->processes = processes = sf_codec_get_list(d, b->n_processes, sizeof(*processes));
    b->series = series = sf_codec_get_list(d, b->n_series, sizeof(*series));
    b->samples = samples = sf_codec_get_list(d, b->n_samples, sizeof(*samples));
    for (uint32_t i = 0; i < b->n_processes && !d->fault; i++) {
        processes[i].service = sf_codec_get_str(d);
        processes[i].key = sf_codec_get_str(d);
        processes[i].is_guess = get_bool(d);
    }
    for (uint32_t i = 0; i < b->n_series && !d->fault; i++)
        get_series(d, b, &series[i]);
    for (uint32_t i = 0; i < b->n_samples && !d->fault; i++)
        get_sample(d, b, i ? &samples[i - 1] : NULL, &start_ns, &samples[i]);
}

enum sf_err sf_profile_codec_decode(sf_bytes in, struct sf_arena *req, struct sf_profile_batch *out,
                                    struct sf_why *why)
{
    struct sf_decoder d;
    struct sf_profile_batch batch = {0};
    enum sf_err err = sf_codec_get_begin(&d, in, VERSION, req, why);
    if (err)
        return err;
    if (!d.fault)
        profile_codec_get_batch(&d, &batch);
    err = sf_codec_get_end(&d, why);
    if (!err)
        *out = batch;
    return err;
}

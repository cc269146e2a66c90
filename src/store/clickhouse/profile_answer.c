/* profile_answer.c - reads the shards' answers (RowBinary) and builds a batch of profiles from
 * them.
 *
 * Dictionary entries are read first; a table maps each id to a place in the list of its kind.
 * Rows then refer to entries by place. Rows of one profile share an entry of `profiles`, found
 * by the hash of the columns that identify a profile. The first invalid row ends the reading
 * with CORRUPT. */
#include "store/clickhouse/profile_answer.h"

#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "wire/row_binary.h"

const char sf_profile_answer_profiles[] = "series, process, is_request, start_ns, duration_ns, "
                                          "period, profile_id, total, samples, is_diff";
const char sf_profile_answer_stacks[] = "series, process, is_request, start_ns, stack, value, "
                                        "samples";
const char sf_profile_answer_details[] =
    "series, process, is_request, start_ns, length_ns, has_time, span_id, trace_id, thread, stack, "
    "value, samples, state, runtime_thread, thread_name, is_lent, is_kernel_thread, process_key, "
    "is_guess";

struct reading {
    struct sf_profile_answer *a;
    struct sf_row_reader r;
    bool is_full; /* the arena */
};

void sf_profile_answer_done(struct sf_profile_answer *a)
{
    for (size_t i = 0; i < SF_ENTRY_KINDS; i++)
        sf_table_done(&a->ids[i].at);
    sf_table_done(&a->profile_at);
}

static enum sf_err profile_answer_end(const struct reading *x, struct sf_why *why)
{
    return x->is_full ? sf_no_room(why, "the answer of a shard") : sf_row_binary_check(&x->r, why);
}

static void profile_answer_refuse(struct reading *x, const char *what)
{
    if (x->r.fault)
        return;
    x->r.fault = what;
    x->r.fault_off = (size_t)(x->r.at - x->r.start);
    x->r.at = x->r.end;
}

/* ---- entries ---- */

static bool profile_answer_find_id(const struct sf_answer_ids *ids, uint64_t id, uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (!ids->at.n_slots)
        return false;
    lookup = sf_table_lookup(&ids->at, sf_key_u64(id));
    while (sf_table_next(&lookup, out)) {
        if (ids->list[*out] == id)
            return true;
    }
    return false;
}

/* The place of the entry with this id; for an id without a definition, creates an empty entry. */
static uint32_t profile_answer_place_of(struct reading *x, enum sf_profile_entry_kind kind,
                                        uint64_t id)
{
    struct sf_profile_answer *a = x->a;
    struct sf_answer_ids *ids = &a->ids[kind];
    uint32_t at = 0;
    bool has_room = false;
    if (profile_answer_find_id(ids, id, &at))
        return at;
    switch (kind) {
    case SF_ENTRY_SERIES:
        has_room = sf_list_room_in(a->req, &a->kinds, ids->n, &a->kinds_cap, 16);
        break;
    case SF_ENTRY_STACK:
        has_room = sf_list_room_in(a->req, &a->stacks, ids->n, &a->stacks_cap, 64);
        break;
    case SF_ENTRY_FRAME:
        has_room = sf_list_room_in(a->req, &a->locations, ids->n, &a->locations_cap, 64);
        break;
    default: has_room = sf_list_room_in(a->req, &a->processes, ids->n, &a->processes_cap, 16);
    }
    if (!has_room || !sf_table_more(&ids->at) ||
        !sf_list_room_in(a->req, &ids->list, ids->n, &ids->cap, 64)) {
        x->is_full = true;
        return 0;
    }
    sf_table_put(&ids->at, sf_key_u64(id), ids->n);
    ids->list[ids->n] = id;
    switch (kind) {
    case SF_ENTRY_SERIES: a->kinds[ids->n] = (struct sf_series){.process = SF_NONE}; break;
    case SF_ENTRY_STACK: a->stacks[ids->n] = (struct sf_stack){0}; break;
    case SF_ENTRY_FRAME: a->locations[ids->n] = (struct sf_location){.mapping = SF_NONE}; break;
    default: a->processes[ids->n] = (struct sf_process){0};
    }
    return ids->n++;
}

struct entry { /* one row of a dictionary */
    uint8_t what, kind;
    uint64_t id, address;
    sf_str a, b, *lists[3];
    uint64_t *frames;
    uint32_t *lines, *starts;
    uint32_t n[3], n_frames, n_lines, n_starts;
};

static void *room(struct reading *x, uint32_t n, size_t size)
{
    void *p = sf_arena_new_n(x->a->req, (size_t)n + 1, size);
    x->is_full = x->is_full || !p;
    return p;
}

static uint32_t *read_u32s(struct reading *x, uint32_t *n)
{
    uint32_t *list;
    *n = sf_row_binary_count(&x->r, 4);
    list = room(x, *n, sizeof(*list));
    for (uint32_t i = 0; list && i < *n; i++)
        list[i] = sf_row_binary_u32(&x->r);
    return list;
}

static void profile_answer_read_entry(struct reading *x, struct entry *e)
{
    e->what = sf_row_binary_u8(&x->r);
    e->id = sf_row_binary_u64(&x->r);
    e->a = sf_row_binary_str(&x->r);
    e->b = sf_row_binary_str(&x->r);
    for (size_t k = 0; k < 3; k++) {
        e->n[k] = sf_row_binary_count(&x->r, 1);
        e->lists[k] = room(x, e->n[k], sizeof(sf_str));
        for (uint32_t i = 0; e->lists[k] && i < e->n[k]; i++)
            e->lists[k][i] = sf_row_binary_str(&x->r);
    }
    e->n_frames = sf_row_binary_count(&x->r, 8);
    e->frames = room(x, e->n_frames, sizeof(*e->frames));
    for (uint32_t i = 0; e->frames && i < e->n_frames; i++)
        e->frames[i] = sf_row_binary_u64(&x->r);
    e->lines = read_u32s(x, &e->n_lines);
    e->starts = read_u32s(x, &e->n_starts);
    e->address = sf_row_binary_u64(&x->r);
    e->kind = sf_row_binary_u8(&x->r);
    if (e->what >= SF_ENTRY_KINDS)
        profile_answer_refuse(x, "an entry of no known kind");
    if (e->what == SF_ENTRY_SERIES && e->n[0] != e->n[1])
        profile_answer_refuse(x, "labels and their values differ in number");
    if (e->what == SF_ENTRY_FRAME &&
        (e->n[0] != e->n[1] || e->n[0] != e->n[2] || e->n[0] != e->n_lines ||
         e->n[0] != e->n_starts || e->kind >= SF_FRAME_KINDS_SENT))
        profile_answer_refuse(x, "a frame whose lists differ in number, or of no known kind");
}

/* name:sample_type:unit:period_type:period_unit; further colons belong to the name. */
static struct sf_profile_type profile_answer_read_type(sf_str text)
{
    struct sf_profile_type t = {0};
    sf_str *parts[] = {&t.period_unit, &t.period_type, &t.sample_unit, &t.sample_type};
    for (size_t i = 0; i < 4; i++) {
        size_t at = text.len;
        while (at > 0 && text.p[at - 1] != ':')
            at--;
        *parts[i] = sf_str_from_at(text, at);
        text = sf_str_part(text, 0, at ? at - 1 : 0);
    }
    t.name = text;
    return t;
}

static void take_series(struct reading *x, const struct entry *e, struct sf_series *to)
{
    struct sf_label *labels = room(x, e->n[0], sizeof(*labels));
    for (uint32_t i = 0; labels && i < e->n[0]; i++)
        labels[i] = (struct sf_label){e->lists[0][i], e->lists[1][i]};
    *to = (struct sf_series){.service = e->a,
                             .type = profile_answer_read_type(e->b),
                             .labels = labels,
                             .n_labels = labels ? e->n[0] : 0,
                             .process = SF_NONE};
}

static void profile_answer_take_stack(struct reading *x, const struct entry *e, uint32_t place)
{
    uint32_t *frames = room(x, e->n_frames, sizeof(*frames));
    for (uint32_t i = 0; frames && !x->is_full && i < e->n_frames; i++)
        frames[i] = profile_answer_place_of(x, SF_ENTRY_FRAME, e->frames[i]);
    x->a->stacks[place] = (struct sf_stack){frames, frames ? e->n_frames : 0};
}

static void profile_answer_take_frame(struct reading *x, const struct entry *e, uint32_t place)
{
    struct sf_profile_answer *a = x->a;
    struct sf_line *lines = room(x, e->n[0], sizeof(*lines));
    struct sf_location to = {
        .mapping = SF_NONE, .addr = e->address, .lines = lines, .kind = e->kind};
    if (!lines)
        return;
    if (e->a.len || e->b.len) {
        if (!sf_list_room_in(a->req, &a->mappings, a->n_mappings, &a->mappings_cap, 16)) {
            x->is_full = true;
            return;
        }
        a->mappings[a->n_mappings] = (struct sf_mapping){.file = e->a, .build_id = e->b};
        to.mapping = a->n_mappings++;
    }
    for (uint32_t i = 0; i < e->n[0]; i++) {
        if (!sf_list_room_in(a->req, &a->functions, a->n_functions, &a->functions_cap, 64)) {
            x->is_full = true;
            return;
        }
        a->functions[a->n_functions] = (struct sf_function){.name = e->lists[0][i],
                                                            .system_name = e->lists[1][i],
                                                            .file = e->lists[2][i],
                                                            .start_line = e->starts[i]};
        lines[i] = (struct sf_line){a->n_functions++, e->lines[i]};
    }
    to.n_lines = e->n[0];
    a->locations[place] = to;
}

static void profile_answer_take_entry(struct reading *x, const struct entry *e)
{
    uint32_t place = profile_answer_place_of(x, (enum sf_profile_entry_kind)e->what, e->id);
    if (x->is_full)
        return;
    switch (e->what) {
    case SF_ENTRY_SERIES: take_series(x, e, &x->a->kinds[place]); break;
    case SF_ENTRY_STACK: profile_answer_take_stack(x, e, place); break;
    case SF_ENTRY_FRAME: profile_answer_take_frame(x, e, place); break;
    default:
        x->a->processes[place] = (struct sf_process){.key = e->a, .is_guess = e->kind != 0};
        break;
    }
}

enum sf_err sf_profile_answer_add_entries(struct sf_profile_answer *a, sf_bytes in,
                                          struct sf_why *why)
{
    struct reading x = {.a = a, .r = sf_row_reader_init(in)};
    while (sf_row_more(&x.r) && !x.is_full) {
        struct entry e = {0};
        profile_answer_read_entry(&x, &e);
        if (!x.r.fault && !x.is_full)
            profile_answer_take_entry(&x, &e);
    }
    return profile_answer_end(&x, why);
}

/* ---- profiles ---- */

struct key { /* columns that every row begins with */
    uint64_t series, process;
    bool is_request;
    int64_t start_ns;
};

static struct key profile_answer_read_key(struct reading *x)
{
    struct key k = {.series = sf_row_binary_u64(&x->r), .process = sf_row_binary_u64(&x->r)};
    k.is_request = sf_row_binary_u8(&x->r) != 0;
    k.start_ns = (int64_t)sf_row_binary_u64(&x->r);
    return k;
}

static uint64_t profile_answer_hash_of(const struct key *k, int64_t duration_ns)
{
    uint64_t h = sf_hash_mix(k->series, k->process);
    h = sf_hash_mix(h, (uint64_t)k->start_ns);
    return sf_hash_mix(h, (uint64_t)duration_ns << 1 | k->is_request);
}

static uint32_t new_profile(struct reading *x, const struct key *k, uint64_t hash)
{
    struct sf_profile_answer *a = x->a;
    uint32_t kind = profile_answer_place_of(x, SF_ENTRY_SERIES, k->series),
             process = k->process ? profile_answer_place_of(x, SF_ENTRY_PROCESS, k->process)
                                  : SF_NONE;
    struct sf_series *to;
    if (x->is_full || !sf_table_more(&a->profile_at) ||
        !sf_list_room_in(a->req, &a->profiles, a->n_profiles, &a->profiles_cap, 64) ||
        !sf_list_room_in(a->req, &a->profile_keys, a->n_profiles, &a->profile_keys_cap, 64)) {
        x->is_full = true;
        return 0;
    }
    to = &a->profiles[a->n_profiles];
    *to = a->kinds[kind];
    to->process = process;
    to->time_ns = k->start_ns;
    to->is_request = k->is_request;
    a->profile_keys[a->n_profiles] = hash;
    sf_table_put(&a->profile_at, sf_key_u64(hash), a->n_profiles);
    return a->n_profiles++;
}

/* The profile of a row that has only `key` and a duration of its profile. */
static uint32_t profile_answer_profile_of(struct reading *x, const struct key *k,
                                          int64_t duration_ns)
{
    struct sf_profile_answer *a = x->a;
    uint64_t hash = profile_answer_hash_of(k, duration_ns);
    uint32_t at;
    if (a->profile_at.n_slots) {
        struct sf_table_lookup lookup = sf_table_lookup(&a->profile_at, sf_key_u64(hash));
        while (sf_table_next(&lookup, &at)) {
            if (a->profile_keys[at] == hash)
                return at;
        }
    }
    at = new_profile(x, k, hash);
    if (!x->is_full)
        a->profiles[at].duration_ns = duration_ns;
    return at;
}

static struct sf_sample *new_sample(struct reading *x)
{
    struct sf_profile_answer *a = x->a;
    if (x->is_full || !sf_list_room_in(a->req, &a->samples, a->n_samples, &a->samples_cap, 256)) {
        x->is_full = true;
        return NULL;
    }
    a->samples[a->n_samples] = (struct sf_sample){0};
    return &a->samples[a->n_samples];
}

static uint32_t profile_answer_count_of(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void profile_answer_read_profile(struct reading *x, bool has_totals)
{
    struct sf_profile_answer *a = x->a;
    struct key k = profile_answer_read_key(x);
    int64_t duration_ns = (int64_t)sf_row_binary_u64(&x->r),
            period = (int64_t)sf_row_binary_u64(&x->r);
    sf_str id = sf_row_binary_fixed(&x->r, sizeof(a->profiles->id.b));
    int64_t total = (int64_t)sf_row_binary_u64(&x->r);
    uint64_t n = sf_row_binary_u64(&x->r);
    bool is_diff = sf_row_binary_u8(&x->r) != 0;
    struct sf_sample *s;
    uint32_t at;
    if (x->r.fault)
        return;
    /* Rows of `aggregates` have no duration: profiles are found without it. */
    at = new_profile(x, &k, profile_answer_hash_of(&k, 0));
    if (x->is_full)
        return;
    a->profiles[at].duration_ns = duration_ns;
    a->profiles[at].period = period;
    a->profiles[at].is_diff = is_diff;
    memcpy(a->profiles[at].id.b, id.p, sizeof(a->profiles->id.b));
    s = has_totals ? new_sample(x) : NULL;
    if (!s)
        return;
    *s = (struct sf_sample){.series = at,
                            .stack = profile_answer_place_of(x, SF_ENTRY_STACK, 0),
                            .value = total,
                            .count = profile_answer_count_of(n)};
    a->n_samples += !x->is_full;
}

enum sf_err sf_profile_answer_add_profiles(struct sf_profile_answer *a, sf_bytes in,
                                           bool has_totals, struct sf_why *why)
{
    struct reading x = {.a = a, .r = sf_row_reader_init(in)};
    while (sf_row_more(&x.r) && !x.is_full)
        profile_answer_read_profile(&x, has_totals);
    return profile_answer_end(&x, why);
}

/* ---- samples ---- */

enum sf_err sf_profile_answer_add_stacks(struct sf_profile_answer *a, sf_bytes in,
                                         struct sf_why *why)
{
    struct reading x = {.a = a, .r = sf_row_reader_init(in)};
    while (sf_row_more(&x.r) && !x.is_full) {
        struct key k = profile_answer_read_key(&x);
        uint64_t stack = sf_row_binary_u64(&x.r);
        int64_t value = (int64_t)sf_row_binary_u64(&x.r);
        uint64_t n = sf_row_binary_u64(&x.r);
        struct sf_sample one = {.value = value, .count = profile_answer_count_of(n)}, *s;
        if (x.r.fault)
            break;
        one.series = profile_answer_profile_of(&x, &k, 0);
        one.stack = profile_answer_place_of(&x, SF_ENTRY_STACK, stack);
        s = new_sample(&x);
        if (s)
            *s = one;
        a->n_samples += s != NULL;
    }
    return profile_answer_end(&x, why);
}

/* Samples have the entry of their process themselves. */
static void profile_answer_see_process(struct reading *x, uint64_t id, sf_str key, bool is_guess)
{
    uint32_t place = profile_answer_place_of(x, SF_ENTRY_PROCESS, id);
    struct sf_process *p = x->is_full ? NULL : &x->a->processes[place];
    if (!p)
        return;
    if (!p->key.len)
        p->key = key;
    p->is_guess = p->is_guess || is_guess;
}

static void read_detail(struct reading *x)
{
    struct key k = profile_answer_read_key(x);
    int64_t length_ns = (int64_t)sf_row_binary_u64(&x->r);
    struct sf_sample one = {.has_time = sf_row_binary_u8(&x->r) != 0}, *s;
    sf_str trace, process_key;
    uint64_t stack;
    bool is_guess;
    one.span_id = sf_row_binary_u64(&x->r);
    trace = sf_row_binary_fixed(&x->r, sizeof(one.trace_id.b));
    one.thread = sf_row_binary_u64(&x->r);
    stack = sf_row_binary_u64(&x->r);
    one.value = (int64_t)sf_row_binary_u64(&x->r);
    one.count = sf_row_binary_u32(&x->r);
    one.state = sf_row_binary_u8(&x->r);
    one.runtime_thread = sf_row_binary_u64(&x->r);
    one.thread_name = sf_row_binary_str(&x->r);
    one.is_lent = sf_row_binary_u8(&x->r) != 0;
    one.is_kernel_thread = sf_row_binary_u8(&x->r) != 0;
    process_key = sf_row_binary_str(&x->r);
    is_guess = sf_row_binary_u8(&x->r) != 0;
    if (one.state >= SF_STATES)
        profile_answer_refuse(x, "a sample in no known state");
    if (x->r.fault)
        return;
    memcpy(one.trace_id.b, trace.p, sizeof(one.trace_id.b));
    if (one.has_time) { /* a sample with its own time: of its profile only the series matters */
        one.start_ns = k.start_ns;
        one.length_ns = length_ns;
        k.start_ns -= k.start_ns % (INT64_C(1) << 40);
        length_ns = INT64_C(1) << 40;
    }
    one.series = profile_answer_profile_of(x, &k, length_ns);
    one.stack = profile_answer_place_of(x, SF_ENTRY_STACK, stack);
    s = new_sample(x);
    if (!s)
        return;
    *s = one;
    x->a->n_samples++;
    if (k.process)
        profile_answer_see_process(x, k.process, process_key, is_guess);
}

enum sf_err sf_profile_answer_add_details(struct sf_profile_answer *a, sf_bytes in,
                                          struct sf_why *why)
{
    struct reading x = {.a = a, .r = sf_row_reader_init(in)};
    while (sf_row_more(&x.r) && !x.is_full)
        read_detail(&x);
    return profile_answer_end(&x, why);
}

struct sf_profile_batch sf_profile_answer_batch(const struct sf_profile_answer *a)
{
    for (uint32_t i = 0; i < a->n_profiles; i++) {
        uint32_t p = a->profiles[i].process;
        if (p != SF_NONE)
            a->processes[p].service = a->profiles[i].service;
    }
    return (struct sf_profile_batch){.mappings = a->mappings,
                                     .functions = a->functions,
                                     .locations = a->locations,
                                     .stacks = a->stacks,
                                     .processes = a->processes,
                                     .samples = a->samples,
                                     .n_mappings = a->n_mappings,
                                     .n_functions = a->n_functions,
                                     .n_locations = a->ids[SF_ENTRY_FRAME].n,
                                     .n_stacks = a->ids[SF_ENTRY_STACK].n,
                                     .n_processes = a->ids[SF_ENTRY_PROCESS].n,
                                     .series = a->profiles,
                                     .n_series = a->n_profiles,
                                     .n_samples = a->n_samples};
}

/* profile_build.c - builds a profile batch while a decoder reads. Mappings, functions, locations,
 * stacks, label sets and series are interned through hash tables in the arena; stacks that are too
 * deep are cut in the middle. Also decides which process and service a profile belongs to. */
#include "decode/profile_build.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "model/process.h"

struct label_set {
    const struct sf_profile_owner *owner; /* in the arena */
    const struct sf_label *labels;
    uint32_t n;
};

/* --- interning --- */

static uint64_t mix_str(uint64_t hash, sf_str s)
{
    return sf_key_mix(hash, sf_key_str(s));
}

static sf_str cut_name(struct sf_profile_build *b, sf_str name)
{
    if (__builtin_expect(name.len > SF_LIMIT_NAME_LEN, 0)) {
        b->drops.n_cut_names++;
        name.len = sf_utf8_cut(name, SF_LIMIT_NAME_LEN);
    }
    if (!b->is_clean)
        name = sf_profile_clean(b, name);
    if (name.len > SF_LIMIT_NAME_LEN) /* cleaning may lengthen it */
        name.len = sf_utf8_cut(name, SF_LIMIT_NAME_LEN);
    return name;
}

static bool is_mapping(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct sf_mapping *m = (const struct sf_mapping *)b->mappings.items + place, *k = key;
    return sf_str_eq(m->file, k->file) && sf_str_eq(m->build_id, k->build_id) &&
           m->start == k->start && m->limit == k->limit && m->file_off == k->file_off;
}

uint32_t sf_profile_build_mapping(struct sf_profile_build *b, const struct sf_mapping *m)
{
    struct sf_mapping k = *m;
    struct sf_profile_spot spot;
    uint64_t hash;
    k.file = cut_name(b, k.file);
    k.build_id = cut_name(b, k.build_id);
    hash = sf_key_mix(mix_str(sf_key_str(k.file), k.build_id), k.start);
    hash = sf_key_mix(sf_key_mix(hash, k.limit), k.file_off);
    if (!sf_profile_table_is_new(b, &b->mapping_at, hash, is_mapping, &k, &spot))
        return spot.place;
    return sf_profile_table_keep(b, &spot, &b->mappings, &k, sizeof(k));
}

static bool profile_build_is_function(const struct sf_profile_build *b, uint32_t place,
                                      const void *key)
{
    const struct sf_function *f = (const struct sf_function *)b->functions.items + place, *k = key;
    return f->start_line == k->start_line && sf_str_eq(f->name, k->name) &&
           sf_str_eq(f->file, k->file) && sf_str_eq(f->system_name, k->system_name);
}

uint32_t sf_profile_build_function(struct sf_profile_build *b, const struct sf_function *f)
{
    struct sf_function k = *f;
    struct sf_profile_spot spot;
    uint64_t hash;
    k.name = cut_name(b, k.name);
    k.system_name = cut_name(b, k.system_name);
    k.file = cut_name(b, k.file);
    hash = sf_key_mix(mix_str(sf_key_str(k.name), k.file), k.start_line);
    if (!sf_str_eq(k.system_name, k.name)) /* most are equal */
        hash = mix_str(hash, k.system_name);
    if (!sf_profile_table_is_new(b, &b->function_at, hash, profile_build_is_function, &k, &spot))
        return spot.place;
    return sf_profile_table_keep(b, &spot, &b->functions, &k, sizeof(k));
}

static bool profile_build_is_location(const struct sf_profile_build *b, uint32_t place,
                                      const void *key)
{
    const struct sf_location *l = (const struct sf_location *)b->locations.items + place, *k = key;
    return l->mapping == k->mapping && l->addr == k->addr && l->n_lines == k->n_lines &&
           l->kind == k->kind &&
           (!l->n_lines || memcmp(l->lines, k->lines, l->n_lines * sizeof(*l->lines)) == 0);
}

uint32_t sf_profile_build_location(struct sf_profile_build *b, const struct sf_location *l)
{
    struct sf_location k = *l;
    uint64_t hash = sf_key_mix(sf_key_u64((uint64_t)l->mapping << 8 | l->kind), l->addr);
    struct sf_profile_spot spot;
    if (k.n_lines)
        hash = sf_key_mix(hash, sf_key(l->lines, l->n_lines * sizeof(*l->lines)));
    if (!sf_profile_table_is_new(b, &b->location_at, hash, profile_build_is_location, &k, &spot))
        return spot.place;
    if (k.n_lines) {
        struct sf_line *lines = sf_profile_new(b, k.n_lines, sizeof(*lines));
        if (!lines)
            return SF_NONE;
        memcpy(lines, l->lines, k.n_lines * sizeof(*lines));
        k.lines = lines;
    }
    return sf_profile_table_keep(b, &spot, &b->locations, &k, sizeof(k));
}

uint32_t sf_profile_build_frame(struct sf_profile_build *b, const struct sf_function *f,
                                uint32_t line, enum sf_frame_kind kind)
{
    struct sf_line l = {sf_profile_build_function(b, f), line};
    if (l.function == SF_NONE)
        return SF_NONE;
    return sf_profile_build_location(
        b, &(struct sf_location){
               .mapping = SF_NONE, .lines = &l, .n_lines = 1, .kind = (uint8_t)kind});
}

static bool is_stack(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct sf_stack *s = (const struct sf_stack *)b->stacks.items + place, *k = key;
    return s->n == k->n &&
           (!s->n || memcmp(s->locations, k->locations, s->n * sizeof(uint32_t)) == 0);
}

/* Keeps the 16 outermost frames, which show the entry point, and the innermost ones, which show the
 * current work; the frames between them are usually repeated recursion. */
static uint32_t n_root_kept(const struct sf_profile_build *b)
{
    return b->max_frames > 2 * SF_PROFILE_ROOT_FRAMES ? SF_PROFILE_ROOT_FRAMES : b->max_frames / 2;
}

bool sf_profile_build_is_cut(const struct sf_profile_build *b, size_t i, size_t n)
{
    size_t most = b->max_frames + 1u, n_root = n_root_kept(b);
    return n > most && i >= most - n_root && i < n - n_root;
}

static bool cut_stack(struct sf_profile_build *b, struct sf_stack *s)
{
    uint32_t n_root = n_root_kept(b), n_leaf = b->max_frames - n_root - 1;
    uint32_t marker = sf_profile_build_frame(
        b, &(struct sf_function){.name = SF_STR("(truncated)")}, 0, SF_FRAME_MARKER);
    if (!b->cut)
        b->cut = sf_profile_new(b, b->max_frames, sizeof(*b->cut));
    if (!b->cut || marker == SF_NONE)
        return false;
    memcpy(b->cut, s->locations, n_leaf * sizeof(*b->cut));
    b->cut[n_leaf] = marker;
    memcpy(b->cut + n_leaf + 1, s->locations + s->n - n_root, n_root * sizeof(*b->cut));
    *s = (struct sf_stack){b->cut, b->max_frames};
    b->drops.n_cut_stacks++;
    return true;
}

/* Of a deep path one frame more than fits is passed on; sf_profile_build_stack() then sees that it
 * is too deep and cuts it. */
uint32_t sf_profile_build_path(struct sf_profile_build *b, const uint32_t *locations, size_t n)
{
    size_t most = b->max_frames + 1u, n_root = n_root_kept(b), n_leaf;
    if (!b->turned)
        b->turned = sf_profile_new(b, most, sizeof(*b->turned));
    if (!b->turned)
        return SF_NONE;
    n_leaf = n > most ? most - n_root : n;
    for (size_t i = 0; i < n_leaf; i++)
        b->turned[i] = locations[n - 1 - i];
    if (n <= most)
        return sf_profile_build_stack(b, b->turned, n);
    for (size_t i = 0; i < n_root; i++)
        b->turned[n_leaf + i] = locations[n_root - 1 - i];
    return sf_profile_build_stack(b, b->turned, most);
}

uint32_t sf_profile_build_stack(struct sf_profile_build *b, const uint32_t *locations, size_t n)
{
    struct sf_stack k = {locations, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX};
    struct sf_profile_spot spot;
    if (n > b->max_frames && !cut_stack(b, &k))
        return SF_NONE;
    if (!sf_profile_table_is_new(b, &b->stack_at, sf_key(k.locations, k.n * sizeof(uint32_t)),
                                 is_stack, &k, &spot))
        return spot.place;
    if (k.n) {
        uint32_t *copy = sf_arena_raw(b->a, k.n * sizeof(*copy), sizeof(*copy));
        if (!copy) {
            b->is_full = true;
            return SF_NONE;
        }
        memcpy(copy, k.locations, k.n * sizeof(*copy));
        k.locations = copy;
    }
    return sf_profile_table_keep(b, &spot, &b->stacks, &k, sizeof(k));
}

/* --- the profiled process --- */

static bool is_kept_label(struct sf_profile_owner *o, sf_str *session, struct sf_label l)
{
    if (sf_str_eq(l.key, SF_STR("__name__"))) {
        sf_str old = SF_STR("godeltaprof_"); /* the prefix that a Go client uses for its own
                                              * deltas */
        o->type_name = sf_str_starts(l.val, old) ? sf_str_from_at(l.val, old.len) : l.val;
        return false;
    }
    if (sf_str_eq(l.key, SF_STR("__session_id__"))) {
        *session = l.val;
        return false;
    }
    if (!l.key.len || !l.val.len || sf_str_starts(l.key, SF_STR("__")))
        return false;
    return !sf_profile_label_ids_take_str(&o->ids, l.key, l.val);
}

static bool profile_build_is_process(const struct sf_profile_build *b, uint32_t place,
                                     const void *key)
{
    const struct sf_process *p = (const struct sf_process *)b->processes.items + place, *k = key;
    return sf_str_eq(p->key, k->key) && sf_str_eq(p->service, k->service);
}

/* Replicas may share an address (behind a proxy, on one machine) and upload at the same time; the
 * labels of their uploads then distinguish them. Only a few bits of a hash are used, because
 * redaction may remove those labels. */
static bool tell_labels(struct sf_profile_build *b, const struct sf_profile_owner *o,
                        sf_str *io_key)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < o->n_labels; i++)
        hash = sf_hash_mix(sf_hash_mix(hash, sf_hash_str(o->labels[i].key)),
                           sf_hash_str(o->labels[i].val));
    return sf_arena_print(b->a, io_key, "%.*s;labels=%04x", SF_STR_ARG(*io_key),
                          (unsigned)(hash >> 48));
}

static uint32_t profile_build_add_process(struct sf_profile_build *b,
                                          const struct sf_profile_owner *o,
                                          struct sf_attrs resource, sf_str session)
{
    struct sf_process p = {.service = o->service};
    struct sf_profile_spot spot;
    if (!resource.n && !session.len && !b->hint->peer.len)
        return SF_NONE;
    if (!sf_process_key(resource, session, b->hint->peer, b->a, &p.key, &p.is_guess) ||
        (p.is_guess && o->n_labels > 1 && !tell_labels(b, o, &p.key))) {
        b->is_full = true;
        return SF_NONE;
    }
    if (!sf_profile_table_is_new(b, &b->process_at, mix_str(sf_key_str(p.key), p.service),
                                 profile_build_is_process, &p, &spot))
        return spot.place;
    return sf_profile_table_keep(b, &spot, &b->processes, &p, sizeof(p));
}

/* Senders without a resource give their instance in labels; dots in these may be replaced. For one
 * attribute, earlier lines take precedence. */
static const struct {
    const char *label, *attr;
} process_labels[] = {
    {"service.instance.id", "service.instance.id"},
    {"service_instance_id", "service.instance.id"},
    {"instance", "service.instance.id"},
    {"container.id", "container.id"},
    {"container_id", "container.id"},
    {"host.id", "host.id"},
    {"host_id", "host.id"},
    {"host.name", "host.name"},
    {"host_name", "host.name"},
    {"k8s.pod.uid", "k8s.pod.uid"},
    {"k8s_pod_uid", "k8s.pod.uid"},
    {"k8s.pod.name", "k8s.pod.name"},
    {"k8s_pod_name", "k8s.pod.name"},
    {"pod", "k8s.pod.name"},
    {"process.pid", "process.pid"},
    {"process_pid", "process.pid"},
};

static sf_str profile_build_label_of(const struct sf_label *labels, uint32_t n, sf_str key)
{
    for (uint32_t i = 0; i < n; i++)
        if (sf_str_eq(labels[i].key, key))
            return labels[i].val;
    return SF_STR_NONE;
}

/* The resource's attributes, completed by labels; the resource takes precedence. */
static struct sf_attrs process_attrs(struct sf_profile_build *b, struct sf_attrs resource,
                                     const struct sf_label *labels, uint32_t n_labels)
{
    enum { N = sizeof(process_labels) / sizeof(process_labels[0]) };
    const struct sf_profile_hint *hint = b->hint;
    struct sf_attr *all;
    struct sf_attrs out;
    if (n_labels == 0 && hint->n_labels == 0)
        return resource;
    all = sf_profile_new(b, (size_t)resource.n + N, sizeof(*all));
    if (!all)
        return resource;
    if (resource.n)
        memcpy(all, resource.list, resource.n * sizeof(*all));
    out = (struct sf_attrs){all, resource.n};
    for (size_t i = 0; i < N; i++) {
        sf_str key = sf_str_from(process_labels[i].attr),
               name = sf_str_from(process_labels[i].label);
        sf_str val = profile_build_label_of(labels, n_labels, name);
        struct sf_value to = {.type = SF_VALUE_STR};
        if (val.len == 0)
            val = profile_build_label_of(hint->labels, hint->n_labels, name);
        if (val.len == 0 || sf_attrs_get(out, key).type != SF_VALUE_NONE)
            continue;
        to.str = val;
        if (sf_str_eq(key, SF_STR("process.pid"))) {
            to = (struct sf_value){.type = SF_VALUE_INT};
            if (!sf_str_to_i64(val, &to.i64) || to.i64 <= 0)
                continue;
        }
        all[out.n++] = (struct sf_attr){key, to};
    }
    return out;
}

void sf_profile_build_owner(struct sf_profile_build *b, struct sf_attrs resource,
                            const struct sf_label *labels, uint32_t n_labels,
                            struct sf_profile_owner *out)
{
    const struct sf_profile_hint *hint = b->hint;
    struct sf_profile_owner o = {.process = SF_NONE, .service = hint->service};
    struct sf_label *all = sf_profile_new(b, (size_t)n_labels + hint->n_labels + 1, sizeof(*all));
    sf_str session = hint->session_id;
    uint32_t n = 0;

    *out = o;
    if (!all)
        return;
    for (uint32_t i = 0; i < n_labels; i++) {
        if (is_kept_label(&o, &session, labels[i]))
            all[n++] = labels[i];
    }
    for (uint32_t i = 0; i < hint->n_labels; i++) {
        if (is_kept_label(&o, &session, hint->labels[i]))
            all[n++] = hint->labels[i];
    }
    n = sf_profile_label_sort(all, n);
    for (uint32_t i = 0; i < n; i++) {
        if (sf_str_eq(all[i].key, SF_STR("service_name")))
            o.service = all[i].val;
    }
    if (!o.service.len)
        o.service = SF_STR("unknown_service");
    all[n++] = (struct sf_label){SF_STR("service_name"), o.service};
    o.n_labels = sf_profile_label_sort(all, n);
    o.labels = all;
    o.process = profile_build_add_process(b, &o, process_attrs(b, resource, labels, n_labels),
                                          session);
    if (!sf_trace_id_is_zero(hint->trace_id))
        o.ids.trace_id = hint->trace_id;
    if (hint->span_id)
        o.ids.span_id = hint->span_id;
    *out = o;
}

void sf_profile_build_init(struct sf_profile_build *b, const struct sf_profile_hint *hint,
                           struct sf_arena *a, struct sf_why *why)
{
    static const struct sf_profile_hint none;
    *b = (struct sf_profile_build){.a = a, .hint = hint ? hint : &none, .why = why};
    b->max_frames = b->hint->max_frames;
    if (b->max_frames < 3 || b->max_frames > SF_LIMIT_FRAMES)
        b->max_frames = SF_LIMIT_FRAMES;
    sf_profile_build_owner(b, b->hint->resource, NULL, 0, &b->me);
}

/* --- series --- */

static bool is_set(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct label_set *s = (const struct label_set *)b->sets.items + place, *k = key;
    if (s->n != k->n || s->owner->process != k->owner->process)
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!sf_str_eq(s->labels[i].key, k->labels[i].key) ||
            !sf_str_eq(s->labels[i].val, k->labels[i].val))
            return false;
    }
    return true;
}

/* Merges two sorted lists; for equal keys the first list's label is kept. */
static uint32_t profile_build_merge(const struct sf_label *a, uint32_t n_a,
                                    const struct sf_label *b, uint32_t n_b, struct sf_label *to)
{
    uint32_t i = 0, j = 0, n = 0;
    while (i < n_a || j < n_b) {
        int order = i == n_a ? 1 : j == n_b ? -1 : sf_str_cmp(a[i].key, b[j].key);
        to[n++] = order <= 0 ? a[i] : b[j];
        i += order <= 0;
        j += order >= 0;
    }
    return n;
}

uint32_t sf_profile_build_set(struct sf_profile_build *b, const struct sf_profile_owner *owner,
                              const struct sf_label *labels, uint32_t n_labels)
{
    struct sf_label extra[SF_LIMIT_SAMPLE_LABELS], *all;
    struct label_set k = {owner, owner->labels, owner->n_labels};
    struct sf_profile_owner *copy;
    struct sf_profile_spot spot;
    size_t mark;
    uint64_t hash = sf_key_u64(owner->process);

    SF_ASSERT(n_labels <= SF_LIMIT_SAMPLE_LABELS);
    if (b->is_full || !sf_profile_table_more(b, &b->set_at))
        return SF_NONE; /* before the mark is taken: a table that grows after it would be freed */
    mark = b->a->at;
    if (n_labels) {
        memcpy(extra, labels, n_labels * sizeof(*extra));
        n_labels = sf_profile_label_sort(extra, n_labels);
        all = sf_profile_new(b, (size_t)owner->n_labels + n_labels, sizeof(*all));
        if (!all)
            return SF_NONE;
        k.n = profile_build_merge(owner->labels, owner->n_labels, extra, n_labels, all);
        k.labels = all;
    }
    for (uint32_t i = 0; i < k.n; i++)
        hash = mix_str(mix_str(hash, k.labels[i].key), k.labels[i].val);
    if (!sf_profile_table_is_new(b, &b->set_at, hash, is_set, &k, &spot)) {
        b->a->at = mark; /* looking up a known set must not use memory: it happens for each
                          * sample */
        return spot.place;
    }
    copy = sf_profile_new(b, 1, sizeof(*copy));
    if (!copy)
        return SF_NONE;
    *copy = *owner;
    k.owner = copy;
    return sf_profile_table_keep(b, &spot, &b->sets, &k, sizeof(k));
}

static void put_part(sf_str *to, sf_str part)
{
    if (part.len)
        *to = part;
}

static int64_t profile_build_overlap(int64_t from, int64_t to, int64_t start, int64_t length)
{
    int64_t first = start > from ? start : from, end = sf_add_sat_i64(start, length);
    int64_t last = end < to ? end : to;
    return last > first ? last - first : 0;
}

/* Some senders stamp the end (Node's wall profiles, Go's heap, mutex and block profiles): if the
 * upload gives its time range, the profile's time is taken as the end when that overlaps more with
 * the range. */
static void set_start(const struct sf_profile_hint *hint, struct sf_profile_what *w)
{
    int64_t before = sf_sub_sat_i64(w->time_ns, w->duration_ns);
    if (hint->from_ns == 0 || hint->until_ns <= hint->from_ns || w->duration_ns <= 0 || before <= 0)
        return;
    if (profile_build_overlap(hint->from_ns, hint->until_ns, before, w->duration_ns) >
        profile_build_overlap(hint->from_ns, hint->until_ns, w->time_ns, w->duration_ns))
        w->time_ns = before;
}

uint32_t sf_profile_build_what(struct sf_profile_build *b, const struct sf_profile_what *what,
                               bool is_only)
{
    const struct sf_profile_type *over = &b->hint->type;
    struct sf_profile_what *to = sf_profile_list_more(b, &b->whats, sizeof(*to));
    if (!to)
        return SF_NONE;
    *to = *what;
    if (is_only) {
        put_part(&to->type.sample_type, over->sample_type);
        put_part(&to->type.sample_unit, over->sample_unit);
        put_part(&to->type.period_type, over->period_type);
        put_part(&to->type.period_unit, over->period_unit);
    }
    if (!to->time_ns)
        to->time_ns = b->hint->from_ns ? b->hint->from_ns : b->hint->now_ns;
    if (!to->duration_ns && b->hint->from_ns && b->hint->until_ns > b->hint->from_ns)
        to->duration_ns = b->hint->until_ns - b->hint->from_ns;
    set_start(b->hint, to);
    if (!memcmp(&to->id, &(sf_profile_id){0}, sizeof(to->id)))
        to->id = b->hint->profile_id;
    return b->whats.n++;
}

struct series_key {
    uint32_t set, what;
};

struct series_item { /* a series and its key */
    struct sf_series s;
    struct series_key key;
};

static bool is_series(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct series_item *s = (const struct series_item *)b->series.items + place;
    const struct series_key *k = key;
    return s->key.set == k->set && s->key.what == k->what;
}

uint32_t sf_profile_build_series(struct sf_profile_build *b, uint32_t set, uint32_t what)
{
    struct series_key key = {set, what};
    struct sf_profile_spot spot;
    const struct label_set *ls;
    const struct sf_profile_what *w;
    struct series_item item;

    if (set == SF_NONE || what == SF_NONE)
        return SF_NONE;
    if (!sf_profile_table_is_new(b, &b->series_at, sf_key_mix(sf_key_u64(set + 1), what), is_series,
                                 &key, &spot))
        return spot.place;
    ls = (const struct label_set *)b->sets.items + set;
    w = (const struct sf_profile_what *)b->whats.items + what;
    item = (struct series_item){
        .s = {.service = ls->owner->service,
              .type = w->type,
              .labels = ls->labels,
              .n_labels = ls->n,
              .process = ls->owner->process,
              .time_ns = w->time_ns,
              .duration_ns = w->duration_ns,
              .period = w->period,
              .id = w->id,
              .is_request = b->hint->is_request || sf_profile_ids_has(&ls->owner->ids),
              .is_cumulative = w->is_cumulative},
        .key = key,
    };
    put_part(&item.s.type.name, ls->owner->type_name);
    put_part(&item.s.type.name, b->hint->type.name);
    if (!item.s.type.name.len)
        item.s.type.name = item.s.type.sample_type;
    return sf_profile_table_keep(b, &spot, &b->series, &item, sizeof(item));
}

void sf_profile_build_sample(struct sf_profile_build *b, const struct sf_profile_owner *owner,
                             const struct sf_sample *s)
{
    struct sf_sample *to;
    if (!s->value || s->series == SF_NONE || s->stack == SF_NONE)
        return;
    if (b->samples.n == SF_LIMIT_SAMPLES) {
        b->is_over = true;
        return;
    }
    to = sf_profile_list_more(b, &b->samples, sizeof(*to));
    if (!to)
        return;
    *to = *s;
    b->samples.n++;
    if (!to->count)
        to->count = 1;
    if (to->value < 0)
        ((struct series_item *)b->series.items)[s->series].s.is_diff = true;
    if (!to->thread && !to->thread_name.len) {
        to->thread = owner->ids.thread;
        to->runtime_thread = owner->ids.runtime_thread;
        to->is_kernel_thread = owner->ids.is_kernel_thread;
        to->thread_name = owner->ids.thread_name;
    }
    if (to->thread_name.len && !to->thread)
        to->thread = sf_hash_str(to->thread_name);
    sf_profile_lend_ids(b, &owner->ids, to);
}

void sf_profile_build_drop(struct sf_profile_build *b, uint64_t *counter, const char *format, ...)
{
    struct sf_why text;
    va_list args;
    if (!b->drops.first[0]) {
        va_start(args, format);
        sf_fail_va(&text, SF_ERR_INPUT, format, args);
        va_end(args);
        snprintf(b->drops.first, sizeof(b->drops.first), "%.*s", (int)sizeof(b->drops.first) - 1,
                 text.text);
    }
    (*counter)++;
}

enum sf_err sf_profile_build_finish(struct sf_profile_build *b, struct sf_profile_batch *out)
{
    const struct series_item *items = b->series.items;
    struct sf_series *series;

    sf_profile_lend_settle(b);
    if (b->is_over)
        return sf_fail(b->why, SF_ERR_LIMIT, "profile: more than %u samples", SF_LIMIT_SAMPLES);
    series = sf_profile_new(b, b->series.n + 1u, sizeof(*series));
    if (b->is_full)
        return sf_fail(b->why, SF_ERR_LIMIT, "profile: decoded, it needs more than %zu bytes",
                       b->a->cap);
    if (!b->samples.n && (b->drops.n_samples || b->drops.n_parts))
        return sf_fail(b->why, SF_ERR_INPUT, "%s", b->drops.first);
    for (uint32_t i = 0; i < b->series.n; i++)
        series[i] = items[i].s;
    *out = (struct sf_profile_batch){
        .mappings = b->mappings.items,
        .functions = b->functions.items,
        .locations = b->locations.items,
        .stacks = b->stacks.items,
        .processes = b->processes.items,
        .series = series,
        .samples = b->samples.items,
        .n_mappings = b->mappings.n,
        .n_functions = b->functions.n,
        .n_locations = b->locations.n,
        .n_stacks = b->stacks.n,
        .n_processes = b->processes.n,
        .n_series = b->series.n,
        .n_samples = b->samples.n,
        .drops = b->drops,
        .is_estimate = b->is_estimate,
        .is_all_seen = b->is_all_seen,
        .unseen = b->unseen.items,
        .n_unseen = b->unseen.n,
    };
    return SF_OK;
}

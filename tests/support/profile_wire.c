#include "support/profile_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "wire/pb_write.h"

enum { OWN_FRAMES = 4, FILES = 300, SPAN_NAMES = 12 };
static const int64_t PERIOD_NS = 10000000, DURATION_NS = INT64_C(10000000000);

struct picked { /* what one profile holds; numbers start at 1, 0 is "not used" */
    uint32_t sites[SF_PROFILE_WIRE_SITES], functions[SF_PROFILE_WIRE_FUNCTIONS], files[FILES];
    uint32_t site_list[SF_PROFILE_WIRE_SITES], function_list[SF_PROFILE_WIRE_FUNCTIONS],
        file_list[FILES];
    uint32_t n_sites, n_functions, n_files;
    struct sample {
        uint32_t frames[SF_PROFILE_WIRE_DEPTH]; /* sites, leaf first */
        uint32_t n, span;
        int64_t count;
    } samples[];
};

static uint32_t below(struct sf_profile_wire *w, uint32_t n)
{
    w->rng = w->rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((w->rng >> 33) * n >> 31);
}

static uint32_t use(uint32_t *numbers, uint32_t *list, uint32_t *n, uint32_t what)
{
    if (!numbers[what]) {
        list[*n] = what;
        numbers[what] = ++*n;
    }
    return numbers[what];
}

static uint32_t file_of(uint32_t function)
{
    return function % FILES;
}

static void pick_stack(const struct sf_profile_wire *w, uint32_t stack, struct picked *p,
                       struct sample *s)
{
    uint32_t own = w->own_frames ? w->own_frames : OWN_FRAMES;
    /* Stacks that share callers are equally deep, so that what they share begins at the root. */
    s->n = 30 + (uint32_t)(sf_hash_mix(w->service + 1, stack / 512 + 1) % 31);
    for (uint32_t level = 0; level < s->n; level++) {
        uint32_t above = s->n - 1 - level;
        uint32_t shared_by = above < own ? 1 : above < own + 8 ? 4 : above < own + 20 ? 32 : 512;
        uint64_t at = sf_hash_mix(sf_hash_mix(w->service + 1, level + 1), stack / shared_by + 1);
        uint32_t site = (uint32_t)(at % SF_PROFILE_WIRE_SITES);
        uint32_t function = site / 2;
        use(p->functions, p->function_list, &p->n_functions, function);
        use(p->files, p->file_list, &p->n_files, file_of(function));
        s->frames[s->n - 1 - level] = use(p->sites, p->site_list, &p->n_sites, site);
    }
}

static struct picked *pick(struct sf_profile_wire *w, uint32_t n_samples)
{
    struct picked *p = sf_heap_new(sizeof(*p) + n_samples * sizeof(struct sample));
    if (!p)
        abort();
    for (uint32_t i = 0; i < n_samples; i++) {
        struct sample *s = &p->samples[i];
        /* The product of two draws: low numbers are hot. */
        uint32_t stack = (uint32_t)((uint64_t)below(w, SF_PROFILE_WIRE_STACKS) *
                                    (1 + below(w, 1000)) / 1000);
        pick_stack(w, stack, p, s);
        s->span = below(w, SF_PROFILE_WIRE_SPANS);
        s->count = below(w, 10) ? 1 : 1 + below(w, 20);
    }
    return p;
}

static sf_str name_of(uint32_t function, char text[96])
{
    int n = snprintf(text, 96, "github.com/shop/%s/internal/pkg%u.(*Server).handle%u",
                     function % 3 ? "orders" : "platform", function % 97, function);
    return (sf_str){text, (size_t)n};
}

static sf_str file_name(uint32_t file, char text[96])
{
    int n = snprintf(text, 96, "/build/src/github.com/shop/internal/pkg%u/part%u.go", file % 97,
                     file);
    return (sf_str){text, (size_t)n};
}

static uint64_t span_id(const struct sf_profile_wire *w, uint32_t span)
{
    uint64_t id = sf_hash_mix(w->span_key + 1, w->n_spans + span + 1);
    return id ? id : 1;
}

static void write_pair(struct sf_buf *out, uint32_t field, uint64_t a, uint64_t b)
{
    size_t mark = sf_pb_write_begin(out, field);
    sf_pb_write_u64(out, 1, a);
    sf_pb_write_u64(out, 2, b);
    sf_pb_write_end(out, mark);
}

/* ---- pprof ---- */

static const char *const pprof_words[] = {"",        "samples",   "count",   "cpu", "nanoseconds",
                                          "span_id", "span_name", "/srv/app"};
enum { N_PPROF_WORDS = sizeof(pprof_words) / sizeof(pprof_words[0]) };

static void write_sample(struct sf_buf *out, const struct sf_profile_wire *w,
                         const struct sample *s, uint64_t spans_at)
{
    size_t mark = sf_pb_write_begin(out, 2), list = sf_pb_write_begin(out, 1);
    for (uint32_t k = 0; k < s->n; k++)
        sf_pb_write_raw_varint(out, s->frames[k]);
    sf_pb_write_end(out, list);
    list = sf_pb_write_begin(out, 2);
    if (w->n_types == 2)
        sf_pb_write_raw_varint(out, (uint64_t)s->count);
    sf_pb_write_raw_varint(out, (uint64_t)(s->count * PERIOD_NS));
    sf_pb_write_end(out, list);
    write_pair(out, 3, 5, spans_at + s->span);
    write_pair(out, 3, 6, spans_at + SF_PROFILE_WIRE_SPANS + s->span % SPAN_NAMES);
    sf_pb_write_end(out, mark);
}

static void write_tables(struct sf_buf *out, const struct picked *p)
{
    const uint64_t names_at = N_PPROF_WORDS, files_at = names_at + p->n_functions;
    size_t mark;
    mark = sf_pb_write_begin(out, 3);
    sf_pb_write_u64(out, 1, 1);
    sf_pb_write_u64(out, 2, 0x400000);
    sf_pb_write_u64(out, 3, 0x2400000);
    sf_pb_write_u64(out, 5, 7);
    sf_pb_write_bool(out, 7, true);
    sf_pb_write_end(out, mark);
    for (uint32_t i = 0; i < p->n_sites; i++) {
        mark = sf_pb_write_begin(out, 4);
        sf_pb_write_u64(out, 1, i + 1u);
        sf_pb_write_u64(out, 2, 1);
        sf_pb_write_u64(out, 3, 0x400000 + p->site_list[i] * 4096u);
        write_pair(out, 4, p->functions[p->site_list[i] / 2], 20 + p->site_list[i] % 900);
        sf_pb_write_end(out, mark);
    }
    for (uint32_t i = 0; i < p->n_functions; i++) {
        mark = sf_pb_write_begin(out, 5);
        sf_pb_write_u64(out, 1, i + 1u);
        sf_pb_write_u64(out, 2, names_at + i);
        sf_pb_write_u64(out, 3, names_at + i);
        sf_pb_write_u64(out, 4, files_at + p->files[file_of(p->function_list[i])] - 1);
        sf_pb_write_end(out, mark);
    }
}

static void write_strings(struct sf_buf *out, const struct sf_profile_wire *w,
                          const struct picked *p)
{
    char text[96];
    for (size_t i = 0; i < N_PPROF_WORDS; i++)
        sf_pb_write_str(out, 6, sf_str_from(pprof_words[i]));
    for (uint32_t i = 0; i < p->n_functions; i++)
        sf_pb_write_str(out, 6, name_of(p->function_list[i], text));
    for (uint32_t i = 0; i < p->n_files; i++)
        sf_pb_write_str(out, 6, file_name(p->file_list[i], text));
    for (uint32_t i = 0; i < SF_PROFILE_WIRE_SPANS; i++) {
        snprintf(text, sizeof(text), "%016llx", (unsigned long long)span_id(w, i));
        sf_pb_write_str(out, 6, sf_str_from(text));
    }
    for (uint32_t i = 0; i < SPAN_NAMES; i++) {
        snprintf(text, sizeof(text), "POST /orders/v%u", i);
        sf_pb_write_str(out, 6, sf_str_from(text));
    }
}

void sf_profile_wire_pprof(struct sf_profile_wire *w, uint32_t n_samples, struct sf_buf *out)
{
    struct picked *p = pick(w, n_samples);
    if (w->n_types == 2)
        write_pair(out, 1, 1, 2);
    write_pair(out, 1, 3, 4);
    for (uint32_t i = 0; i < n_samples; i++)
        write_sample(out, w, &p->samples[i], N_PPROF_WORDS + p->n_functions + p->n_files);
    write_tables(out, p);
    write_strings(out, w, p);
    if (w->time_ns)
        sf_pb_write_i64(out, 9, w->time_ns);
    sf_pb_write_i64(out, 10, DURATION_NS);
    write_pair(out, 11, 3, 4);
    sf_pb_write_i64(out, 12, PERIOD_NS);
    w->n_spans += SF_PROFILE_WIRE_SPANS;
    sf_heap_free(p);
}

/* ---- OTLP ---- */

static const char *const otlp_words[] = {"", "samples", "count", "cpu", "nanoseconds"};
enum { N_OTLP_WORDS = sizeof(otlp_words) / sizeof(otlp_words[0]) };

/* The first of every table represents "none". */
static void write_dictionary(struct sf_buf *out, const struct sf_profile_wire *w,
                             const struct picked *p, uint32_t n_samples)
{
    char text[96];
    size_t mark, list;
    for (uint32_t table = 1; table <= 7; table++) {
        if (table != 5)
            sf_pb_write_bytes(out, table, SF_BYTES_NONE);
    }
    for (uint32_t i = 0; i < p->n_sites; i++) {
        mark = sf_pb_write_begin(out, 2);
        write_pair(out, 3, p->functions[p->site_list[i] / 2], 20 + p->site_list[i] % 900);
        sf_pb_write_end(out, mark);
    }
    for (uint32_t i = 0; i < p->n_functions; i++) {
        mark = sf_pb_write_begin(out, 3);
        sf_pb_write_u64(out, 1, N_OTLP_WORDS + i);
        sf_pb_write_u64(out, 3,
                        N_OTLP_WORDS + p->n_functions + p->files[file_of(p->function_list[i])] - 1);
        sf_pb_write_end(out, mark);
    }
    for (uint32_t i = 0; i < SF_PROFILE_WIRE_SPANS; i++) {
        uint64_t ids[3] = {span_id(w, i), w->n_spans + i + 1, span_id(w, i)};
        mark = sf_pb_write_begin(out, 4);
        sf_pb_write_bytes(out, 1, (sf_bytes){(const uint8_t *)ids, 16});
        sf_pb_write_bytes(out, 2, (sf_bytes){(const uint8_t *)&ids[2], 8});
        sf_pb_write_end(out, mark);
    }
    for (int i = 0; i < N_OTLP_WORDS; i++)
        sf_pb_write_str(out, 5, sf_str_from(otlp_words[i]));
    for (uint32_t i = 0; i < p->n_functions; i++)
        sf_pb_write_str(out, 5, name_of(p->function_list[i], text));
    for (uint32_t i = 0; i < p->n_files; i++)
        sf_pb_write_str(out, 5, file_name(p->file_list[i], text));
    for (uint32_t i = 0; i < n_samples; i++) {
        mark = sf_pb_write_begin(out, 7);
        list = sf_pb_write_begin(out, 1);
        for (uint32_t k = 0; k < p->samples[i].n; k++)
            sf_pb_write_raw_varint(out, p->samples[i].frames[k]);
        sf_pb_write_end(out, list);
        sf_pb_write_end(out, mark);
    }
}

static void write_resource(struct sf_buf *out, const struct sf_profile_wire *w)
{
    char text[32];
    size_t resource = sf_pb_write_begin(out, 1), attr = sf_pb_write_begin(out, 1), val;
    sf_pb_write_str(out, 1, SF_STR("service.name"));
    val = sf_pb_write_begin(out, 2);
    snprintf(text, sizeof(text), "service-%u", w->service);
    sf_pb_write_str(out, 1, sf_str_from(text));
    sf_pb_write_end(out, val);
    sf_pb_write_end(out, attr);
    sf_pb_write_end(out, resource);
}

/* One moment a sample, which is how the eBPF profiler sends them: no values. */
static void write_profile(struct sf_buf *out, struct sf_profile_wire *w, const struct picked *p,
                          uint32_t n_samples)
{
    size_t profile = sf_pb_write_begin(out, 2), mark, list;
    uint64_t time_ns = w->time_ns ? (uint64_t)w->time_ns : 1700000000000000000;
    write_pair(out, 1, 1, 2);
    sf_pb_write_fixed64(out, 3, time_ns);
    sf_pb_write_i64(out, 4, DURATION_NS);
    write_pair(out, 5, 3, 4);
    sf_pb_write_i64(out, 6, PERIOD_NS);
    for (uint32_t i = 0; i < n_samples; i++) {
        mark = sf_pb_write_begin(out, 2);
        sf_pb_write_u64(out, 1, i + 1u);
        sf_pb_write_u64(out, 3, 1 + p->samples[i].span);
        list = sf_pb_write_begin(out, 5);
        sf_buf_add_u64le(out, time_ns + below(w, 1000000000) * (uint64_t)10);
        sf_pb_write_end(out, list);
        sf_pb_write_end(out, mark);
    }
    sf_pb_write_end(out, profile);
}

void sf_profile_wire_otlp(struct sf_profile_wire *w, uint32_t n_samples, struct sf_buf *out)
{
    struct picked *p = pick(w, n_samples);
    size_t resource = sf_pb_write_begin(out, 1), scope, mark;
    write_resource(out, w);
    scope = sf_pb_write_begin(out, 2);
    write_profile(out, w, p, n_samples);
    sf_pb_write_end(out, scope);
    sf_pb_write_end(out, resource);
    mark = sf_pb_write_begin(out, 2);
    write_dictionary(out, w, p, n_samples);
    sf_pb_write_end(out, mark);
    w->n_spans += SF_PROFILE_WIRE_SPANS;
    sf_heap_free(p);
}

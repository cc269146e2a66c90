/* Redacts profiles: names of functions, files, labels, threads, processes and types. */
#include <stdlib.h>

#include "base/limits.h"
#include "intake/redact_pass.h"

enum { N_FILES = 64 };

/* Names of files that have no secret, by their address: functions share them. */
struct clean_files {
    sf_str at[N_FILES];
};

static bool redact_file(struct sf_redact_pass *p, struct clean_files *clean, sf_str *file)
{
    sf_str *known = &clean->at[((uintptr_t)file->p * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
    if (known->p == file->p && known->len == file->len)
        return false;
    if (sf_redact_pass_code(p, "function.file", p->r->files, file))
        return true;
    *known = *file;
    return false;
}

static bool redact_function(struct sf_redact_pass *p, struct clean_files *clean,
                            struct sf_function *f)
{
    const struct sf_redactor *r = p->r;
    bool is_changed = false;
    if (r->in_names || r->functions != SF_REDACT_CODE_MATCH) {
        is_changed = sf_redact_pass_code(p, "function.name", r->functions, &f->name);
        is_changed = sf_redact_pass_code(p, "function.system_name", r->functions,
                                         &f->system_name) ||
                     is_changed;
    }
    if (r->in_values || r->files != SF_REDACT_CODE_MATCH)
        is_changed = redact_file(p, clean, &f->file) || is_changed;
    return is_changed;
}

static void redact_functions(struct sf_redact_pass *p, struct sf_profile_batch *b)
{
    struct clean_files clean = {0};
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_functions && !p->is_full; i++) {
        struct sf_function f = b->functions[i];
        p->row = i;
        if (redact_function(p, &clean, &f) &&
            sf_redact_pass_own_list(p, &copy, b->functions, b->n_functions, sizeof(f)))
            ((struct sf_function *)copy)[i] = f;
    }
    if (copy)
        b->functions = copy;
}

static void redact_mappings(struct sf_redact_pass *p, struct sf_profile_batch *b)
{
    void *copy = NULL;
    if (!p->r->in_values && p->r->files == SF_REDACT_CODE_MATCH)
        return;
    for (uint32_t i = 0; i < b->n_mappings && !p->is_full; i++) {
        struct sf_mapping m = b->mappings[i];
        p->row = i;
        if (sf_redact_pass_code(p, "mapping.file", p->r->files, &m.file) &&
            sf_redact_pass_own_list(p, &copy, b->mappings, b->n_mappings, sizeof(m)))
            ((struct sf_mapping *)copy)[i] = m;
    }
    if (copy)
        b->mappings = copy;
}

/* The key has the form "instance=...". Queries compute the same key from a span's resource, whose
 * attributes were redacted one by one: so the part after the first equal sign is redacted too. */
static bool redact_process_key(struct sf_redact_pass *p, sf_str *key)
{
    size_t at;
    sf_str val;
    char *whole;
    if (!sf_str_find_char(*key, '=', &at))
        return sf_redact_pass_free_text(p, "process.key", key);
    val = sf_str_from_at(*key, at + 1);
    if (!sf_redact_pass_free_text(p, "process.key", &val))
        return false;
    whole = sf_arena_raw(p->req, at + 1 + val.len, 1);
    if (!whole) {
        p->is_full = true;
        return false;
    }
    memcpy(whole, key->p, at + 1);
    memcpy(whole + at + 1, val.p, val.len);
    *key = (sf_str){whole, at + 1 + val.len};
    return true;
}

static void redact_processes(struct sf_redact_pass *p, struct sf_profile_batch *b)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_processes && !p->is_full; i++) {
        struct sf_process process = b->processes[i];
        bool is_changed;
        p->row = i;
        is_changed = sf_redact_pass_name(p, "process.service", &process.service);
        is_changed = redact_process_key(p, &process.key) || is_changed;
        if (is_changed &&
            sf_redact_pass_own_list(p, &copy, b->processes, b->n_processes, sizeof(process)))
            ((struct sf_process *)copy)[i] = process;
    }
    if (copy)
        b->processes = copy;
}

static int redact_profile_by_key(const void *a, const void *b)
{
    return sf_str_cmp(((const struct sf_label *)a)->key, ((const struct sf_label *)b)->key);
}

/* A redacted key is another one, which may already exist. */
static void sort_labels(struct sf_label *labels, uint32_t *io_n)
{
    uint32_t n = 0;
    qsort(labels, *io_n, sizeof(*labels), redact_profile_by_key);
    for (uint32_t i = 0; i < *io_n; i++) {
        if (n == 0 || !sf_str_eq(labels[n - 1].key, labels[i].key))
            labels[n++] = labels[i];
    }
    *io_n = n;
}

static bool redact_labels(struct sf_redact_pass *p, struct sf_series *s)
{
    struct sf_attr *list = sf_arena_new_n(p->req, s->n_labels + 1, sizeof(*list));
    struct sf_attrs attrs = {list, s->n_labels};
    struct sf_label *labels;
    for (uint32_t i = 0; list && i < s->n_labels; i++)
        list[i] = (struct sf_attr){s->labels[i].key,
                                   {.type = SF_VALUE_STR, .str = s->labels[i].val}};
    p->is_full = p->is_full || !list;
    if (p->is_full || !sf_redact_pass_attrs(p, "label", &attrs))
        return false;
    labels = sf_arena_new_n(p->req, attrs.n + 1, sizeof(*labels));
    if (!labels) {
        p->is_full = true;
        return false;
    }
    for (uint32_t i = 0; i < attrs.n; i++)
        labels[i] = (struct sf_label){attrs.list[i].key, attrs.list[i].val.str};
    sort_labels(labels, &s->n_labels);
    s->labels = labels;
    return true;
}

static bool redact_type(struct sf_redact_pass *p, struct sf_profile_type *t)
{
    sf_str *const parts[] = {&t->name, &t->sample_type, &t->sample_unit, &t->period_type,
                             &t->period_unit};
    bool is_changed = false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        is_changed = sf_redact_pass_free_text(p, "profile.type", parts[i]) || is_changed;
    return is_changed;
}

static void redact_series(struct sf_redact_pass *p, struct sf_profile_batch *b)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_series && !p->is_full; i++) {
        struct sf_series s = b->series[i];
        bool is_changed;
        p->row = i;
        is_changed = redact_labels(p, &s);
        is_changed = redact_type(p, &s.type) || is_changed;
        is_changed = sf_redact_pass_name(p, "service", &s.service) || is_changed;
        if (is_changed && sf_redact_pass_own_list(p, &copy, b->series, b->n_series, sizeof(s)))
            ((struct sf_series *)copy)[i] = s;
    }
    if (copy)
        b->series = copy;
}

/* Threads have few names and many samples: the last name is cached. */
static void redact_threads(struct sf_redact_pass *p, struct sf_profile_batch *b)
{
    sf_str last = SF_STR_NONE, made = SF_STR_NONE;
    bool is_changed = false;
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_samples && !p->is_full; i++) {
        sf_str name = b->samples[i].thread_name;
        if (name.len == 0)
            continue;
        if (name.p != last.p || name.len != last.len) {
            last = made = name;
            p->row = i;
            is_changed = sf_redact_pass_free_text(p, "thread.name", &made);
        }
        if (is_changed &&
            sf_redact_pass_own_list(p, &copy, b->samples, b->n_samples, sizeof(*b->samples)))
            ((struct sf_sample *)copy)[i].thread_name = made;
    }
    if (copy)
        b->samples = copy;
}

enum sf_err sf_redact_profiles(const struct sf_redactor *r, struct sf_profile_batch *io,
                               struct sf_arena *req, const struct sf_redact_watch *watch,
                               uint64_t *out_n, struct sf_why *why)
{
    struct sf_profile_batch b = *io;
    struct sf_redact_pass p;
    enum sf_err err = sf_redact_pass_init(&p, r, req, watch, why);
    if (err)
        return err;
    redact_functions(&p, &b);
    redact_mappings(&p, &b);
    redact_processes(&p, &b);
    redact_series(&p, &b);
    redact_threads(&p, &b);
    err = sf_redact_pass_done(&p, why);
    if (err)
        return err;
    *io = b;
    *out_n = p.n;
    return SF_OK;
}

enum sf_err sf_redact_profile_rest(const struct sf_redactor *r, struct sf_attrs attrs,
                                   struct sf_arena *req, uint64_t *out_n, struct sf_why *why)
{
    struct sf_redact_pass p;
    enum sf_err err = sf_redact_pass_init(&p, r, req, NULL, why);
    if (err)
        return err;
    sf_redact_pass_attrs(&p, "label", &attrs);
    err = sf_redact_pass_done(&p, why);
    if (!err)
        *out_n = p.n;
    return err;
}

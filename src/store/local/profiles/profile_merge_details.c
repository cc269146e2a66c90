/* profile_merge_details.c - detail rows of a merge. Rows of an input are sorted by process, thread
 * and start, so they are merged as streams with one granule of each input in memory: a day of one
 * busy process has millions of rows. */
#include "base/heap.h"
#include "model/process.h"
#include "store/local/profiles/profile_merging.h"

struct stream { /* the rows of one input that belong to the current process */
    const struct sf_merge_part *p;
    uint32_t own;                   /* number of the process in this input */
    uint32_t granule;               /* the next one */
    struct sf_profile_detail *rows; /* of its part */
    uint32_t n, at;
};

struct details {
    struct sf_service_merge *s;
    struct sf_profile_block_writer *to;
    uint32_t process;
    struct stream *streams;
    uint32_t n_streams;
    struct sf_profile_detail **rooms; /* by part: buffers for the rows of a granule */
};

/* Rows in the largest granule of the part. */
static uint32_t most_rows(const struct sf_merge_part *p)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->places.n_granules; i++)
        most = p->places.granules[i].n_rows > most ? p->places.granules[i].n_rows : most;
    return most < SF_PROFILE_GRANULE_ROWS ? most : SF_PROFILE_GRANULE_ROWS;
}

static bool is_of_output(const struct sf_service_merge *s, const struct sf_merge_part *p,
                         int64_t start_ns)
{
    int64_t window = sf_profile_merge_window(s->w, start_ns);
    uint32_t at = 0;
    while (at + 1 < p->n_windows && p->windows[at + 1] <= window)
        at++;
    return p->n_windows && p->windows[at] == s->o->window;
}

static bool is_left_out(struct sf_service_merge *s, const struct sf_merge_part *p,
                        const struct sf_profile_detail *d)
{
    struct sf_thinning_row row = {
        .d = d,
        .process = d->process == SF_NONE
                       ? 0
                       : sf_process_hash(s->t.service, p->processes[d->process].key),
        .service = s->t.service,
        .is_uploaded = p->series[d->series].flags & SF_PROFILE_REQUEST};
    return !sf_thinning_keeps(&s->w->thinning, &row);
}

/* Reads until a granule has rows of the process, or none is left. */
static enum sf_err profile_merge_details_fill(const struct details *d, struct stream *x,
                                              struct sf_why *why)
{
    const struct sf_merge_part *p = x->p;
    struct sf_service_merge *s = d->s;
    bool is_thinned = sf_thinning_concerns(&s->w->thinning, p->in->run);
    enum sf_err err = SF_OK;
    x->n = x->at = 0;
    while (!err && x->n == 0 && x->granule < p->places.n_granules) {
        const struct sf_profile_granule *g = &p->places.granules[x->granule++];
        struct sf_arena tmp = s->w->arena;
        const struct sf_profile_detail *rows;
        uint32_t n = 0;
        if (x->own < g->first_process || x->own > g->last_process)
            continue;
        err = sf_profile_samples_granule(p->in->reader, p->service, &p->places, x->granule - 1,
                                         &tmp, &rows, &n, why);
        for (uint32_t i = 0; !err && i < n; i++) {
            if ((rows[i].process == SF_NONE ? 0 : rows[i].process + 1) != x->own ||
                !is_of_output(s, p, rows[i].start_ns) ||
                sf_profile_merge_hides(s->w, p->in, s->t.tenant, s->t.service, rows[i].trace_id,
                                       rows[i].start_ns) ||
                (is_thinned && is_left_out(s, p, &rows[i])))
                continue;
            x->rows[x->n] = rows[i];
            x->rows[x->n].process = d->process;
            x->rows[x->n].series = p->series_map[rows[i].series];
            x->rows[x->n++].node = p->node_map[rows[i].node];
        }
    }
    return sf_profile_merge_blame(p->in, err, why);
}

static const struct sf_profile_detail *head_of(const struct stream *x)
{
    return x->at < x->n ? &x->rows[x->at] : NULL;
}

/* The stream with the smallest next row, and the one after it; NULL: none. */
static struct stream *profile_merge_details_least(const struct details *d,
                                                  const struct stream **out_next)
{
    struct stream *best = NULL;
    const struct stream *next = NULL;
    for (uint32_t i = 0; i < d->n_streams; i++) {
        struct stream *x = &d->streams[i];
        if (!head_of(x))
            continue;
        if (!best || sf_profile_set_write_detail_cmp(head_of(x), head_of(best)) < 0) {
            next = best;
            best = x;
        } else if (!next || sf_profile_set_write_detail_cmp(head_of(x), head_of(next)) < 0) {
            next = x;
        }
    }
    *out_next = next;
    return best;
}

static enum sf_err write_process(struct details *d, struct sf_why *why)
{
    const struct stream *next;
    struct stream *x;
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < d->n_streams; i++)
        err = profile_merge_details_fill(d, &d->streams[i], why);
    while (!err && (x = profile_merge_details_least(d, &next))) {
        uint32_t from = x->at++;
        /* Inputs are usually consecutive hours, so many rows come from one stream. */
        while (x->at < x->n &&
               (!next || sf_profile_set_write_detail_cmp(head_of(x), head_of(next)) <= 0))
            x->at++;
        err = sf_profile_details_encode_row(d->to, x->rows + from, x->at - from, why);
        if (!err && x->at == x->n)
            err = profile_merge_details_fill(d, x, why);
    }
    return err;
}

/* Opens a stream for each input that has the process. */
static void profile_merge_details_open_streams(struct details *d)
{
    d->n_streams = 0;
    for (uint32_t i = 0; i < d->s->n_parts; i++) {
        const struct sf_merge_part *p = &d->s->parts[i];
        uint32_t own = 0, n_own = p->in->services[p->service].n_processes;
        struct stream *x = &d->streams[d->n_streams];
        while (d->process != SF_NONE && own < n_own && p->process_map[own] != d->process)
            own++;
        if (d->process != SF_NONE && own == n_own)
            continue;
        x->p = p;
        x->rows = d->rooms[i];
        x->own = d->process == SF_NONE ? 0 : own + 1;
        x->granule = 0;
        d->n_streams++;
    }
}

enum sf_err sf_profile_merge_details(struct sf_service_merge *s, struct sf_profile_block_writer *to,
                                     struct sf_why *why)
{
    struct details d = {.s = s, .to = to, .process = SF_NONE};
    enum sf_err err = SF_OK;
    d.streams = sf_heap_new_n((size_t)s->n_parts + 1, sizeof(*d.streams));
    d.rooms = sf_heap_new_n((size_t)s->n_parts + 1, sizeof(struct sf_profile_detail *));
    if (!d.streams || !d.rooms)
        err = sf_profile_merge_no_memory(why);
    for (uint32_t i = 0; !err && i < s->n_parts; i++) {
        uint32_t n = most_rows(&s->parts[i]);
        d.rooms[i] = sf_heap_new_n((size_t)n + 1, sizeof(**d.rooms));
        err = d.rooms[i] ? SF_OK : sf_profile_merge_no_memory(why);
        s->w->streams_len += ((size_t)n + 1) * sizeof(**d.rooms);
    }
    for (uint32_t i = 0; !err && i <= s->t.n_processes; i++) {
        d.process = i ? i - 1 : SF_NONE;
        profile_merge_details_open_streams(&d);
        err = write_process(&d, why);
    }
    for (uint32_t i = 0; d.rooms && i < s->n_parts; i++)
        sf_heap_free(d.rooms[i]);
    sf_heap_free(d.rooms);
    sf_heap_free(d.streams);
    return err;
}

enum sf_err sf_profile_merge_details_has_pinned(struct sf_profile_merging *w,
                                                const struct sf_merge_input *in, uint32_t service,
                                                bool *out, struct sf_why *why)
{
    const struct sf_profile_service *me = &in->services[service];
    struct sf_arena a = w->arena;
    struct sf_profile_places places = {0};
    enum sf_err err = me->n_details
                          ? sf_profile_tables_decode_places(in->reader, service, &a, &places, why)
                          : SF_OK;
    *out = false;
    for (uint32_t g = 0; !err && !*out && g < places.n_granules; g++) {
        struct sf_arena tmp = a;
        const struct sf_profile_detail *rows;
        uint32_t n = 0;
        err = sf_profile_samples_granule(in->reader, service, &places, g, &tmp, &rows, &n, why);
        for (uint32_t i = 0; !err && !*out && i < n; i++)
            *out = sf_pinned_has(&w->thinning.pins, &rows[i], me->name) &&
                   !sf_profile_merge_hides(w, in, me->tenant, me->name, rows[i].trace_id,
                                           rows[i].start_ns);
    }
    return sf_profile_merge_blame(in, err, why);
}

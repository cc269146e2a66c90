#include "store/local/read/copies.h"

#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"
#include "store/local/read/column_read.h"
#include "store/local/read/granules.h"

enum { MAX_SPANS = 1 << 21 };

struct set { /* a set of keyed hashes */
    uint64_t *hashes;
    uint32_t n, cap;
    struct sf_table at;
};

struct piece {      /* of a trace, in one run */
    uint64_t trace; /* keyed hash of its id */
    size_t place;   /* of the run in the snapshot */
    uint64_t number;
};

struct search {
    struct sf_parted *p;
    const struct sf_snapshot *s;
    struct sf_column_read show;
    bool is_by_id;            /* compare ids of traces, not of spans */
    struct set seen, doubled; /* doubled: traces of which an id was seen twice */
    struct piece *pieces;
    size_t n_pieces, pieces_cap;
    bool is_too_many;
};

static bool copies_find(const struct set *s, uint64_t hash, struct sf_table_lookup *lookup)
{
    uint32_t at;
    *lookup = sf_table_lookup(&s->at, hash);
    while (sf_table_next(lookup, &at)) {
        if (s->hashes[at] == hash)
            return true;
    }
    return false;
}

static bool copies_put(struct set *s, uint64_t hash, bool *out_was_there)
{
    struct sf_table_lookup lookup;
    if (!sf_list_room(&s->hashes, s->n, &s->cap, 2048) || !sf_table_more(&s->at))
        return false;
    *out_was_there = copies_find(s, hash, &lookup);
    if (*out_was_there)
        return true;
    sf_table_keep(&s->at, &lookup, s->n);
    s->hashes[s->n++] = hash;
    return true;
}

static bool copies_has(const struct set *s, uint64_t hash)
{
    struct sf_table_lookup lookup;
    return s->n && copies_find(s, hash, &lookup);
}

static void set_done(struct set *s)
{
    sf_heap_free(s->hashes);
    sf_table_done(&s->at);
}

static enum sf_err copies_no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "query: no memory to find duplicate spans");
}

static enum sf_err copies_add_piece(struct search *s, struct piece piece, struct sf_why *why)
{
    if (!sf_list_room(&s->pieces, s->n_pieces, &s->pieces_cap, 1024))
        return copies_no_memory(why);
    s->pieces[s->n_pieces++] = piece;
    return SF_OK;
}

static enum sf_err copies_add_trace(struct search *s, uint32_t t, size_t place, struct sf_why *why)
{
    const struct sf_span_columns *c = &s->show.base;
    uint64_t trace = sf_trace_id_key(c->trace_ids[t], c->rows.tenant);
    struct piece piece = {trace, place, s->show.view.info->first_trace + t};
    uint32_t end = s->is_by_id ? c->firsts[t] + 1 : c->firsts[t + 1];
    bool was;
    for (uint32_t i = c->firsts[t]; i < end; i++) {
        uint64_t key = s->is_by_id
                           ? trace
                           : sf_key_mix(sf_key_mix(trace, c->rows.span_id[i]), c->rows.kind[i]);
        if (!copies_put(&s->seen, key, &was) || (was && !copies_put(&s->doubled, trace, &was)))
            return copies_no_memory(why);
    }
    s->is_too_many = s->seen.n > MAX_SPANS;
    return copies_add_piece(s, piece, why);
}

static bool has_parted(const struct search *s, size_t place, const struct sf_granule_info *info)
{
    for (uint32_t t = 0; t < info->n_traces; t++) {
        if (sf_parted_has(s->p, place, info->first_trace + t))
            return true;
    }
    return false;
}

static enum sf_err copies_add_granule(struct search *s, size_t place, uint32_t granule,
                                      struct sf_why *why)
{
    struct sf_span_columns *c = &s->show.base;
    enum sf_err err = sf_column_read_open(&s->show, s->s, place, granule, NULL, why);
    if (!err)
        err = c->add(c, s->is_by_id ? SF_COL_TRACES : SF_COL_IDS | SF_COL_KIND, why);
    for (uint32_t t = 0; !err && t < c->n_traces && !s->is_too_many; t++) {
        if (sf_parted_has(s->p, place, s->show.view.info->first_trace + t))
            err = copies_add_trace(s, t, place, why);
    }
    return err;
}

static enum sf_err copies_add_run(struct search *s, size_t place, struct sf_query_ctx *q,
                                  struct sf_why *why)
{
    struct sf_run *run = s->s->runs[place];
    const struct sf_span_block_reader *reader;
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    for (uint32_t g = 0; !err && g < sf_span_block_reader_granules(reader) && !s->is_too_many;
         g++) {
        if (!has_parted(s, place, sf_span_block_reader_granule(reader, g)))
            continue;
        err = sf_granules_query_check(q, why);
        if (!err)
            err = copies_add_granule(s, place, g, why);
    }
    sf_column_read_close(&s->show);
    sf_run_leave(run);
    return err;
}

/* Are there so many that reading each of them completely would take long? */
static bool copies_is_worth(const struct sf_parted *p, uint64_t least)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->n && n < least; i++) {
        for (size_t at = 0; p->bits[i] && at < p->lens[i] && n < least; at++)
            n += (uint64_t)__builtin_popcount(p->bits[i][at]);
    }
    return n >= least;
}

static void forget_singles(struct search *s)
{
    for (size_t i = 0; i < s->n_pieces; i++) {
        const struct piece *piece = &s->pieces[i];
        if (!copies_has(&s->doubled, piece->trace))
            s->p->bits[piece->place][piece->number / 8] &= (uint8_t) ~(1u << piece->number % 8);
    }
}

/* *out false: undecided, `p` must stay unchanged. */
static enum sf_err copies_look(struct sf_parted *p, const struct sf_snapshot *s, struct sf_local *l,
                               struct sf_query_ctx *q, bool is_by_id, bool *out, struct sf_why *why)
{
    struct search search = {.p = p, .s = s, .is_by_id = is_by_id};
    enum sf_err err = SF_OK;
    *out = true;
    sf_column_read_init(&search.show, l, q);
    for (size_t i = 0; !err && i < p->n && !search.is_too_many; i++) {
        if (!p->bits[i])
            continue;
        err = copies_add_run(&search, i, q, why);
        if (err && sf_granules_query_skips(q, s->runs[i], err, why)) {
            err = SF_OK;
            *out = false; /* the content of a run is unknown */
        }
    }
    *out = *out && !err && !search.is_too_many;
    if (*out)
        forget_singles(&search);
    sf_column_read_done(&search.show);
    set_done(&search.seen);
    set_done(&search.doubled);
    sf_heap_free(search.pieces);
    return err;
}

/* The indexes contain half of a hash: among many traces, most that seem to be in two runs are two
 * different traces. This function compares their trace ids, which are a tenth of the size of span
 * ids. */
enum sf_err sf_copies_keep_traces(struct sf_parted *p, const struct sf_snapshot *s,
                                  struct sf_local *l, struct sf_query_ctx *q, uint64_t least,
                                  struct sf_why *why)
{
    bool is_known;
    return copies_is_worth(p, least) ? copies_look(p, s, l, q, true, &is_known, why) : SF_OK;
}

enum sf_err sf_copies_keep(struct sf_parted *p, const struct sf_snapshot *s, struct sf_local *l,
                           struct sf_query_ctx *q, uint64_t least, struct sf_why *why)
{
    bool is_known = false;
    enum sf_err err;
    if (!copies_is_worth(p, least))
        return SF_OK;
    err = copies_look(p, s, l, q, true, &is_known, why);
    if (!err && is_known && copies_is_worth(p, 1))
        err = copies_look(p, s, l, q, false, &is_known, why);
    return err;
}

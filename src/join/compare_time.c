/* compare_time.c - compares the durations of two sets of spans, part by part. The time breakdowns
 * of both sides become costs per part and per function or child, which link/cohort.h compares with
 * intervals; the rest of the file writes rows, example spans and a sentence. */
#include "join/compare_time.h"

#include <math.h>
#include <stdlib.h>

#include "base/list.h"
#include "join/cohort_set.h"
#include "join/set_breakdown.h"
#include "link/cohort.h"

enum {
    DURATION = SF_PARTS, /* follows the parts */
    FEWEST_SPANS = 50,   /* per side, when it is reduced to fit memory */
    SUMMARY_PARTS = 3    /* named in the sentence */
};

struct side {
    struct sf_cohort parts, items; /* costs of each span */
    struct sf_cohort_cost *part_costs, *item_costs;
    struct sf_cohort_when *when;
    uint32_t n_parts, n_items; /* costs */
    uint32_t n_spans;
    double unknown_ns, cut_ns; /* sums over all spans */
    double room;               /* sf_ledger_costs_room */
};

struct work {
    struct sf_query_ctx *q; /* of the answer */
    struct sf_arena *tmp;   /* of all else */
    struct sf_span_pair pair;
    struct sf_link_gathered *gathered;
    enum sf_breakdown_by by;
    struct sf_set_breakdown b;
    uint32_t *place;  /* by span of the pair: its index in its side */
    uint32_t *frames; /* by part and item: its frame number, or SF_NONE */
    uint32_t n_frames;
    struct sf_set_breakdown_cost *first; /* by frame: part and item */
    struct side left, right;
    uint16_t estimates; /* parts that are estimated for some span */
    struct sf_comparison_time out;
};

/* ---- what each side spent ---- */

static struct side *compare_time_side_of(struct work *w, uint32_t span)
{
    return w->pair.is_right[span] ? &w->right : &w->left;
}

static bool compare_time_make_room(struct work *w, struct side *s)
{
    uint32_t n = w->gathered->n_read;
    s->when = sf_arena_new_n(w->tmp, n + 1u, sizeof(*s->when));
    s->part_costs = sf_arena_new_n(w->tmp, (size_t)n * (SF_PARTS + 1) + 1, sizeof(*s->part_costs));
    s->item_costs = sf_arena_new_n(w->tmp, w->b.n_costs + 1u, sizeof(*s->item_costs));
    return s->when && s->part_costs && s->item_costs;
}

static void add_room(struct work *w, uint32_t span)
{
    struct side *s = compare_time_side_of(w, span);
    s->unknown_ns += w->b.parts[span].ns[SF_PART_UNKNOWN];
    for (uint32_t part = 0; part < SF_PARTS; part++)
        s->cut_ns += w->b.parts[span].cut[part];
}

static void compare_time_add_parts(struct work *w, uint32_t span)
{
    struct side *s = compare_time_side_of(w, span);
    const struct sf_set_span *from = &w->pair.spans[span];
    struct sf_ledger_parts parts = w->b.parts[span];
    double sum = 0;
    sf_ledger_costs_fit(&parts, s->room);
    w->place[span] = s->n_spans;
    for (uint32_t part = 0; part < SF_PARTS; part++) {
        double ns = parts.ns[part];
        sum += ns;
        if (ns != 0)
            s->part_costs[s->n_parts++] = (struct sf_cohort_cost){s->n_spans, part, ns};
    }
    s->part_costs[s->n_parts++] = (struct sf_cohort_cost){s->n_spans, DURATION, sum};
    s->when[s->n_spans++] = (struct sf_cohort_when){sf_trace_id_hash(from->trace, 0),
                                                    from->start_ns, from->weight};
    w->estimates |= w->b.estimates[span];
}

static void add_item(struct work *w, const struct sf_set_breakdown_cost *c)
{
    struct side *s = compare_time_side_of(w, c->span);
    uint32_t *frame = &w->frames[(size_t)c->part * w->b.n_items + c->item];
    if (*frame == SF_NONE) {
        w->first[w->n_frames] = *c;
        *frame = w->n_frames++;
    }
    s->item_costs[s->n_items++] = (struct sf_cohort_cost){
        w->place[c->span], *frame,
        c->ns * sf_ledger_costs_scale(&w->b.parts[c->span], c->part, s->room)};
}

static void compare_time_end(struct side *s)
{
    s->parts = (struct sf_cohort){s->part_costs, s->n_parts, s->n_spans, s->when};
    s->items = (struct sf_cohort){s->item_costs, s->n_items, s->n_spans, s->when};
}

static bool compare_time_deal(struct work *w)
{
    size_t n_frames = (size_t)w->b.n_items * SF_PARTS;
    w->place = sf_arena_new_n(w->tmp, w->gathered->n_read + 1u, sizeof(*w->place));
    w->frames = sf_arena_new_n(w->tmp, n_frames + 1, sizeof(*w->frames));
    w->first = sf_arena_new_n(w->tmp, w->b.n_costs + 1u, sizeof(*w->first));
    if (!w->place || !w->frames || !w->first || !compare_time_make_room(w, &w->left) ||
        !compare_time_make_room(w, &w->right))
        return false;
    for (size_t i = 0; i < n_frames; i++)
        w->frames[i] = SF_NONE;
    for (uint32_t i = 0; i < w->gathered->n_read; i++)
        add_room(w, i);
    w->left.room = sf_ledger_costs_room(w->left.unknown_ns, w->left.cut_ns);
    w->right.room = sf_ledger_costs_room(w->right.unknown_ns, w->right.cut_ns);
    for (uint32_t i = 0; i < w->gathered->n_read; i++)
        compare_time_add_parts(w, i);
    for (uint32_t i = 0; i < w->b.n_costs; i++)
        add_item(w, &w->b.costs[i]);
    compare_time_end(&w->left);
    compare_time_end(&w->right);
    return true;
}

/* ---- the answer ---- */

static struct sf_comparison_row compare_time_row_of(const struct sf_cohort_row *r)
{
    return (struct sf_comparison_row){.left = r->left,
                                      .right = r->right,
                                      .delta = r->delta,
                                      .low = r->low,
                                      .high = r->high,
                                      .n_left = r->n_left,
                                      .n_right = r->n_right,
                                      .is_significant = r->is_significant,
                                      .n_needed = r->n_needed};
}

static int by_difference(const void *a, const void *b)
{
    const struct sf_comparison_part *x = a, *y = b;
    if (fabs(x->row.delta) != fabs(y->row.delta))
        return fabs(x->row.delta) > fabs(y->row.delta) ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Rows are sorted: significant ones first, then by size. */
static bool give_items(struct work *w, uint32_t part, const struct sf_cohort_result *r,
                       struct sf_comparison_part *to)
{
    struct sf_comparison_row *items = sf_arena_new_n(w->q->req, SF_COMPARISON_ITEMS,
                                                     sizeof(*items));
    if (!items)
        return false;
    to->rest_left = to->row.left;
    to->rest_right = to->row.right;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct sf_set_breakdown_cost *c = &w->first[r->rows[i].frame];
        if (c->part != part)
            continue;
        to->rest_left -= r->rows[i].left;
        to->rest_right -= r->rows[i].right;
        if (to->n_items == SF_COMPARISON_ITEMS) {
            to->n_more++;
            continue;
        }
        items[to->n_items] = compare_time_row_of(&r->rows[i]);
        const struct sf_frame *f = c->item < w->b.n_code ? w->b.frames[c->item] : NULL;
        if (!sf_arena_copy(w->q->req, w->b.items[c->item], &items[to->n_items].function) ||
            (f && !sf_arena_copy(w->q->req, f->file, &items[to->n_items].file)))
            return false;
        items[to->n_items].line = f ? f->line : 0;
        to->n_items++;
    }
    to->items = items;
    return true;
}

static bool compare_time_give(struct work *w, const struct sf_cohort_result *parts,
                              const struct sf_cohort_result *items)
{
    struct sf_comparison_time *t = &w->out;
    t->n_left = w->left.n_spans;
    t->n_right = w->right.n_spans;
    t->n_samples = w->b.n_samples;
    for (uint32_t i = 0; i < parts->n_rows; i++) {
        uint32_t part = parts->rows[i].frame;
        if (part == DURATION) {
            t->duration = compare_time_row_of(&parts->rows[i]);
            continue;
        }
        struct sf_comparison_part *to = &t->parts[t->n_parts++];
        to->name = sf_ledger_part_name((enum sf_ledger_part)part);
        to->words = sf_ledger_part_words((enum sf_ledger_part)part);
        to->row = compare_time_row_of(&parts->rows[i]);
        to->is_estimate = w->estimates >> part & 1;
        if (!give_items(w, part, items, to))
            return false;
    }
    qsort(t->parts, t->n_parts, sizeof(*t->parts), by_difference);
    return true;
}

/* Gives example spans of the right side: those with most of the part that differs most, or least if
 * the right side has less of it. */
static void compare_time_give_examples(struct work *w)
{
    struct sf_comparison_time *t = &w->out;
    uint32_t part = 0;
    double sign = t->n_parts > 0 && t->parts[0].row.delta < 0 ? -1 : 1;
    while (t->n_parts > 0 && part < SF_PARTS &&
           t->parts[0].name != sf_ledger_part_name((enum sf_ledger_part)part))
        part++;
    for (uint32_t i = 0; part < SF_PARTS && i < w->gathered->n_read; i++) {
        const struct sf_set_span *s = &w->pair.spans[i];
        double ns = w->b.parts[i].ns[part];
        uint32_t at = t->n_examples;
        if (!w->pair.is_right[i])
            continue;
        while (at > 0 && sign * t->examples[at - 1].part_ns < sign * ns)
            at--;
        if (at == SF_COMPARISON_EXAMPLES)
            continue;
        t->n_examples += t->n_examples < SF_COMPARISON_EXAMPLES;
        for (uint32_t k = t->n_examples - 1; k > at; k--)
            t->examples[k] = t->examples[k - 1];
        t->examples[at].trace = s->trace;
        t->examples[at].span = s->id;
        t->examples[at].duration_ns = s->duration_ns;
        t->examples[at].part_ns = ns;
    }
}

/* ---- words ---- */

/* Prints three digits, without an exponent. */
static void add_ms(struct sf_buf *out, double ns)
{
    sf_buf_print(out, fabs(ns) < 1e9 ? "%+.3g ms" : "%+.0f ms", ns / 1e6);
}

/* Lists the parts that differ in the direction of the total difference, with their share of it. */
static void add_reasons(const struct sf_comparison_time *t, struct sf_buf *out)
{
    const char *sep = ": ";
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_parts && n < SUMMARY_PARTS; i++) {
        double share = t->parts[i].row.delta / t->duration.delta;
        if (share < 0.05)
            continue;
        sf_buf_print(out, "%s%s %s", sep, t->parts[i].words, t->parts[i].is_estimate ? "~" : "");
        add_ms(out, t->parts[i].row.delta);
        sf_buf_print(out, " (%.0f %%", share * 100);
        const struct sf_comparison_row *item = t->parts[i].items;
        if (t->parts[i].n_items > 0 && item->is_significant &&
            item->delta / t->parts[i].row.delta > 0.5)
            sf_buf_print(out, ", mostly %.*s", SF_STR_ARG(sf_str_part(item->function, 0, 120)));
        sf_buf_add_u8(out, ')');
        sep = ", ";
        n++;
    }
}

static bool summarize(struct work *w)
{
    struct sf_comparison_time *t = &w->out;
    const struct sf_comparison_row *d = &t->duration;
    struct sf_buf text = {0};
    bool has_bounds = isfinite(d->low) && isfinite(d->high);
    if (t->n_left == 0 || t->n_right == 0)
        return true;
    if (!has_bounds)
        sf_buf_print(&text,
                     fabs(d->delta) < 1e9 ? "right spans take %.3g ms %s on average, from too few "
                                            "spans to tell whether that is chance"
                                          : "right spans take %.0f ms %s on average, from too few "
                                            "spans to tell whether that is chance",
                     fabs(d->delta) / 1e6, d->delta < 0 ? "less" : "more");
    else if (d->is_significant)
        sf_buf_print(&text,
                     fabs(d->delta) < 1e9 ? "right spans take %.3g ms %s"
                                          : "right spans take %.0f ms %s",
                     fabs(d->delta) / 1e6, d->delta < 0 ? "less" : "more");
    else
        sf_buf_print(&text, "the durations do not differ significantly");
    if (has_bounds) {
        sf_buf_add_str(&text, d->is_significant ? SF_STR(" (95 % interval ") : SF_STR(" ("));
        if (!d->is_significant) {
            add_ms(&text, d->delta);
            sf_buf_add_str(&text, SF_STR(", 95 % interval "));
        }
        add_ms(&text, d->low);
        sf_buf_add_str(&text, SF_STR(" to "));
        add_ms(&text, d->high);
        sf_buf_add_u8(&text, ')');
    }
    if (d->is_significant)
        add_reasons(t, &text);
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(w->q->req, sf_buf_str(&text), &t->summary);
    sf_buf_done(&text);
    return is_kept;
}

static const struct sf_comparison_part *compare_time_find_part(const struct sf_comparison_time *t,
                                                               enum sf_ledger_part part)
{
    for (uint32_t i = 0; i < t->n_parts; i++)
        if (t->parts[i].name == sf_ledger_part_name(part))
            return &t->parts[i];
    return NULL;
}

/* Adds a note if more than a tenth of the time of a side is unknown. */
static void compare_time_explain(struct work *w)
{
    struct sf_comparison_time *t = &w->out;
    const struct sf_comparison_part *unknown = compare_time_find_part(t, SF_PART_UNKNOWN);
    if (!unknown || (unknown->row.left * 10 <= t->duration.left &&
                     unknown->row.right * 10 <= t->duration.right))
        return;
    t->reason = w->b.n_types == 0
                    ? SF_STR("no profiles of time from these spans' services around this time: the "
                             "parts are computed from child spans and from span attributes, the "
                             "rest of the duration is unknown")
                : w->b.n_samples == 0 && w->b.n_estimated > 0
                    ? SF_STR("samples cannot be assigned to single spans: they are estimates, and "
                             "the parts are computed from child spans and from span attributes. "
                             "spanflame coverage prints the lines that tag samples")
                : w->b.n_samples == 0
                    ? SF_STR(
                          "these spans' services send profiles, but no sample carries the id of "
                          "one of these spans: the parts are computed from child spans and from "
                          "span attributes. spanflame coverage prints the lines that tag samples")
                    : SF_STR("much of the duration is unknown: the profiles of these spans do not "
                             "cover it. Send wall clock or off-CPU profiles to see waits");
}

/* ---- all of it ---- */

static enum sf_err compare_time_compare(struct work *w, struct sf_store *store, struct sf_why *why)
{
    struct sf_query_ctx q = *w->q;
    struct sf_cohort_result parts, items;
    q.req = w->tmp;
    enum sf_err err = sf_set_breakdown_make(store, w->gathered, w->pair.spans, w->by, *w->q->req,
                                            &q, &w->b, why);
    w->q->stats = q.stats;
    if (!err && !compare_time_deal(w))
        err = sf_no_room(why, "the query");
    if (!err)
        err = sf_cohort_compare(&w->left.parts, &w->right.parts, SF_PARTS + 1, 1, w->tmp, &parts,
                                why);
    if (!err)
        err = sf_cohort_compare(&w->left.items, &w->right.items, w->n_frames, 1, w->tmp, &items,
                                why);
    if (err)
        return err;
    w->out = (struct sf_comparison_time){0};
    if (!compare_time_give(w, &parts, &items) || !summarize(w))
        return sf_no_room(why, "the query");
    compare_time_give_examples(w);
    compare_time_explain(w);
    w->out.left_out = w->b.left_out;
    return SF_OK;
}

/* Reads the spans of both sides, at most this many of each. */
static enum sf_err compare_time_gather(struct work *w, struct sf_store *store,
                                       const struct sf_compare_time_want *want, uint32_t most,
                                       struct sf_why *why)
{
    struct sf_span_set left = *want->left, right = *want->right;
    left.spans = sf_arena_new_n(w->q->req, left.n + 1u, sizeof(*left.spans));
    right.spans = sf_arena_new_n(w->q->req, right.n + 1u, sizeof(*right.spans));
    w->gathered = sf_arena_new(w->q->req, sizeof(*w->gathered));
    if (!left.spans || !right.spans || !w->gathered)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < left.n; i++)
        left.spans[i] = want->left->spans[i];
    for (uint32_t i = 0; i < right.n; i++)
        right.spans[i] = want->right->spans[i];
    if (!sf_span_set_thin(&left, most, w->q->req) || !sf_span_set_thin(&right, most, w->q->req) ||
        !sf_span_pair_make(&left, &right, w->q->req, &w->pair))
        return sf_no_room(why, "the query");
    struct sf_link_many many = {.spans = w->pair.spans,
                                .n = w->pair.n,
                                .kept = want->keep,
                                .scratch = want->scratch,
                                .has_calls = true};
    return sf_link_set_gather(store, &many, w->q, w->gathered, why);
}

enum sf_err sf_compare_time_make(struct sf_store *store, const struct sf_compare_time_want *want,
                                 struct sf_query_ctx *q, struct sf_comparison_time *out,
                                 struct sf_why *why)
{
    uint32_t n_left = want->left->n, n_right = want->right->n;
    uint32_t most = n_left > n_right ? n_left : n_right;
    enum sf_err err;
    *out = (struct sf_comparison_time){0};
    if (n_left == 0 || n_right == 0)
        return SF_OK;
    for (bool is_first = true;; is_first = false, most /= 2) {
        struct work w = {.q = q,
                         .tmp = want->scratch,
                         .by = want->is_charged ? SF_BREAKDOWN_OWNER : SF_BREAKDOWN_FUNCTION};
        if (is_first && want->pair && want->pair->n == n_left + n_right) {
            w.pair = *want->pair;
            w.gathered = want->gathered;
            err = SF_OK;
        } else {
            err = compare_time_gather(&w, store, want, most, why);
        }
        sf_arena_reset(want->scratch);
        if (!err)
            err = compare_time_compare(&w, store, why);
        if (!err)
            *out = w.out;
        if (err != SF_ERR_LIMIT || most / 2 < FEWEST_SPANS)
            break;
    }
    if (err != SF_ERR_LIMIT && err != SF_ERR_DEADLINE)
        return err;
    if (!sf_arena_print(q->req, &out->reason, "the parts of the duration are missing: %s",
                        why->text))
        return sf_no_room(why, "the query");
    return SF_OK;
}

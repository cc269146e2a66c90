/* findings_waits.c - finds what the requests of a service wait for. */
#include "join/findings_waits.h"

#include <math.h>

#include "base/buf.h"
#include "join/cohort_set.h"
#include "join/set_load.h"
#include "link/hot_code.h"

enum { WAIT_SPANS = 300, WAIT_TRACES = 100, PER_PART = 4, CODE_PIECES = 16 };
#define MOSTLY   0.8
#define SMALLEST 0.05 /* smallest share of the duration of a request */

struct work {
    struct sf_store *store;
    const struct sf_requests_want *want;
    struct sf_query_ctx *q;
    struct sf_set_load l;
    double n_traces;
    struct sf_finding *items;
    struct sf_request_span *ids;
    uint32_t n;
    struct sf_waits_findings out;
};

/* Counts its requests: for each trace the longest of the service's spans. */
static void count_requests(struct work *w)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < w->l.set.n; i++) { /* spans are sorted by trace */
        const struct sf_set_span *s = &w->l.set.spans[i];
        bool is_last = i + 1 == w->l.set.n ||
                       !sf_trace_id_eq(s->trace, w->l.set.spans[i + 1].trace);
        longest_ns = s->duration_ns > longest_ns ? s->duration_ns : longest_ns;
        if (!is_last)
            continue;
        w->out.request_ns += (double)longest_ns;
        w->n_traces++;
        longest_ns = 0;
    }
    w->out.request_ns /= fmax(1, w->n_traces);
}

/* The share of a span's waits for the network that is not a call to a service with spans. */
static double own_share(const struct work *w, uint32_t span, uint32_t part)
{
    double ns = w->l.b.parts[span].ns[part];
    return part != SF_PART_NET && part != SF_PART_IO ? 1
           : ns > 0                                  ? fmax(0, 1 - w->l.b.remote_ns[span] / ns)
                                                     : 0;
}

static enum sf_err findings_waits_add(struct work *w, enum sf_finding_kind kind, const char *what,
                                      const struct sf_hot_piece *p, uint32_t example,
                                      struct sf_why *why)
{
    struct sf_finding *f = &w->items[w->n];
    struct sf_buf text = {0};
    *f = (struct sf_finding){.kind = kind,
                             .share = p->value / w->out.request_ns,
                             .value = llround(p->value),
                             .node = SF_NONE,
                             .span = SF_NOBODY,
                             .line = p->line};
    w->ids[w->n] = (struct sf_request_span){w->l.set.spans[example].trace,
                                            w->l.set.spans[example].id};
    if (!sf_arena_copy(w->q->req, p->function, &f->subject) ||
        !sf_arena_copy(w->q->req, p->path, &f->path) ||
        !sf_arena_copy(w->q->req, p->file, &f->file))
        return sf_no_room(why, "the query");
    sf_buf_print(&text, "%.*s waits for %s, %.0f %% of the duration of a request, in %.*s: %s",
                 SF_STR_ARG(f->subject), what, f->share * 100, SF_STR_ARG(f->path),
                 sf_findings_action(kind));
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(w->q->req, sf_buf_str(&text), &f->sentence);
    sf_buf_done(&text);
    w->n++;
    return is_kept ? SF_OK : sf_no_room(why, "the query");
}

static enum sf_err findings_waits_look_at(struct work *w, const struct sf_hot_code *hot,
                                          uint32_t part, enum sf_finding_kind kind,
                                          const char *what, struct sf_why *why)
{
    struct sf_arena *tmp = w->want->scratch;
    struct sf_hot_pieces found;
    double *values = sf_arena_new_n(tmp, w->l.b.stacks.n_nodes + 1u, sizeof(*values));
    if (!values)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->l.b.n_costs; i++) {
        const struct sf_set_breakdown_cost *c = &w->l.b.costs[i];
        if (c->part == part && c->item < w->l.b.n_code)
            values[c->item] += c->ns * own_share(w, c->span, part) / w->n_traces;
    }
    enum sf_err err = sf_hot_code_find(hot, values, PER_PART, tmp, &found, why);
    for (uint32_t i = 0; !err && i < found.n; i++) {
        uint32_t example = 0;
        double most = 0;
        if (found.list[i].value < w->out.request_ns * SMALLEST)
            break;
        for (uint32_t k = 0; k < w->l.b.n_costs; k++) {
            const struct sf_set_breakdown_cost *c = &w->l.b.costs[k];
            if (c->part == part && c->item < w->l.b.n_code && found.of[c->item] == i &&
                c->ns > most) {
                most = c->ns;
                example = c->span;
            }
        }
        err = findings_waits_add(w, kind, what, &found.list[i], example, why);
    }
    return err;
}

/* Finds the spans in which a piece of code runs: one name with four fifths of it, or none. */
static enum sf_err find_places(struct work *w, const struct sf_hot_code *hot, struct sf_why *why)
{
    struct sf_arena *tmp = w->want->scratch;
    struct sf_hot_pieces found;
    uint32_t n_names = w->l.b.n_items - w->l.b.n_code;
    double *values = sf_arena_new_n(tmp, w->l.b.stacks.n_nodes + 1u, sizeof(*values));
    double *names = sf_arena_new_n(tmp, (size_t)CODE_PIECES * (n_names + 1u), sizeof(*names));
    struct sf_code_place *places = sf_arena_new_n(w->q->req, CODE_PIECES, sizeof(*places));
    if (!values || !names || !places)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->l.b.n_costs; i++)
        if (w->l.b.costs[i].part == SF_PART_CPU && w->l.b.costs[i].item < w->l.b.n_code)
            values[w->l.b.costs[i].item] += w->l.b.costs[i].ns;
    enum sf_err err = sf_hot_code_find(hot, values, CODE_PIECES, tmp, &found, why);
    for (uint32_t i = 0; !err && i < w->l.b.n_costs; i++) {
        const struct sf_set_breakdown_cost *c = &w->l.b.costs[i];
        uint32_t name = w->l.b.span_items[c->span];
        if (c->part == SF_PART_CPU && c->item < w->l.b.n_code && found.of[c->item] != SF_NONE &&
            name != SF_NOBODY)
            names[found.of[c->item] * n_names + name - w->l.b.n_code] += c->ns;
    }
    for (uint32_t i = 0; !err && i < found.n; i++) {
        for (uint32_t k = 0; k < n_names; k++) {
            struct sf_code_place *p = &places[w->out.n_places];
            if (names[i * n_names + k] < found.list[i].value * MOSTLY)
                continue;
            if (!sf_arena_copy(w->q->req, found.list[i].function, &p->function) ||
                !sf_arena_copy(w->q->req, w->l.b.items[w->l.b.n_code + k], &p->span))
                return sf_no_room(why, "the query");
            w->out.n_places++;
            break;
        }
    }
    w->out.places = places;
    return err;
}

static enum sf_err findings_waits_load(struct work *w, struct sf_why *why)
{
    struct sf_set_load_want ask = {.query = w->want->query,
                                   .from_ns = w->want->from_ns,
                                   .to_ns = w->want->to_ns,
                                   .most_traces = WAIT_TRACES,
                                   .scratch = w->want->scratch};
    enum sf_err err = sf_set_load_find(w->store, &ask, w->q, &w->l, why);
    struct sf_span_set *set = &w->l.set;
    if (err || set->n == 0)
        return err;
    w->out.n_requests = (double)sf_span_set_found(set) / (double)set->n;
    uint32_t n = set->n > WAIT_SPANS ? WAIT_SPANS : set->n; /* as many whole traces as fit */
    while (n < set->n && n > 1 && sf_trace_id_eq(set->spans[n - 1].trace, set->spans[n].trace))
        n--;
    w->out.n_requests *= (double)set->n / (double)n;
    set->n = n;
    err = sf_set_load_divide(w->store, w->want->scratch, w->q, &w->l, why);
    if (!err)
        set->n = w->l.gathered->n_read;
    return err;
}

enum sf_err sf_findings_waits(struct sf_store *store, const struct sf_requests_want *want,
                              struct sf_query_ctx *q, struct sf_waits_findings *out,
                              struct sf_why *why)
{
    static const struct {
        enum sf_ledger_part part;
        enum sf_finding_kind kind;
        const char *what;
    } parts[] = {{SF_PART_LOCK, SF_FINDING_LOCK, "a lock"},
                 {SF_PART_DISK, SF_FINDING_DISK, "the disk"},
                 {SF_PART_NET, SF_FINDING_NETWORK, "the network"}};
    struct work w = {.store = store, .want = want, .q = q};
    struct sf_hot_code hot;
    *out = (struct sf_waits_findings){0};
    w.items = sf_arena_new_n(q->req, 3 * PER_PART, sizeof(*w.items));
    w.ids = sf_arena_new_n(q->req, 3 * PER_PART, sizeof(*w.ids));
    enum sf_err err = w.items && w.ids ? findings_waits_load(&w, why)
                                       : sf_no_room(why, "the query");
    out->is_too_large = err == SF_ERR_LIMIT;
    if (out->is_too_large)
        return SF_OK; /* keep the other findings */
    if (err || w.l.set.n == 0)
        return err;
    count_requests(&w);
    w.out.n_requests *= w.n_traces;
    err = sf_hot_code_init(&hot, &w.l.b.stacks, want->scratch, why);
    if (!err)
        err = find_places(&w, &hot, why);
    for (size_t i = 0; !err && i < 3; i++)
        err = findings_waits_look_at(&w, &hot, parts[i].part, parts[i].kind, parts[i].what, why);
    if (err)
        return err;
    w.out.list = (struct sf_finding_list){w.items, w.n, 0};
    w.out.ids = w.ids;
    w.out.left_out = w.l.b.left_out;
    *out = w.out;
    return SF_OK;
}

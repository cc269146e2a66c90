/* ledger.c - where a span's time went, to the last nanosecond.
 *
 * First a sweep: beginnings and ends of all stretches in order of time, with a count of what lies
 * there for each part; between two of them the first part with a count wins. That gives pieces, in
 * order, that tile the span. Then moments: each looks up the piece it falls into and moves its
 * worth from that piece's part to its own, if its own takes precedence and the part has that much.
 * What a part has is kept as one sum and not piece by piece: two samples 10 ms apart that stand
 * for 10 ms each must be worth 20 ms however their edges fall. */
#include "link/ledger.h"

#include <stdlib.h>

const struct sf_ledger_exact sf_ledger_unsaid = {
    {SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID,
     SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID}};

struct edge {
    uint64_t at_ns;
    uint8_t part;
    int32_t step; /* +1 begins, -1 ends */
};

enum { FIRST_WAIT = SF_PART_LOCK };

struct piece { /* until the next one's start */
    uint64_t start_ns;
    uint8_t part;
};

struct work {
    const struct sf_span_tree *tree;
    const struct sf_span_place *place;
    uint32_t span;
    struct edge *edges;
    uint32_t n_edges;
    struct piece *pieces;
    uint32_t n_pieces;
    struct sf_ledger l;
};

/* ---- whose thread ---- */

/* The span's, else the one the samples spend most time on. Boyer and Moore's vote, by worth: a
 * thread with a majority wins in one pass, without one any leader will do. */
static uint64_t find_thread(const struct work *w, const struct sf_ledger_sample *samples,
                            uint32_t n)
{
    uint64_t leader = w->place->thread;
    int64_t lead_ns = 0;
    for (uint32_t i = 0; w->place->thread == 0 && i < n; i++) {
        int64_t worth_ns = samples[i].worth_ns > 0 ? samples[i].worth_ns : 0;
        if (samples[i].thread == 0)
            continue;
        if (samples[i].thread == leader) {
            lead_ns += worth_ns;
        } else if ((lead_ns -= worth_ns) < 0) {
            leader = samples[i].thread;
            lead_ns = -lead_ns;
        }
    }
    return leader;
}

static bool is_own(const struct work *w, const struct sf_ledger_sample *s)
{
    return s->thread == 0 || w->l.thread == 0 || s->thread == w->l.thread;
}

/* ---- stretches ---- */

static void add_stretch(struct work *w, uint64_t start_ns, uint64_t end_ns,
                        enum sf_ledger_part part, enum sf_ledger_source source)
{
    start_ns = start_ns > w->place->start_ns ? start_ns : w->place->start_ns;
    end_ns = end_ns < w->place->end_ns ? end_ns : w->place->end_ns;
    if (start_ns >= end_ns)
        return;
    w->edges[w->n_edges++] = (struct edge){start_ns, (uint8_t)part, 1};
    w->edges[w->n_edges++] = (struct edge){end_ns, (uint8_t)part, -1};
    if (w->l.sources[part] < source)
        w->l.sources[part] = (uint8_t)source;
}

static bool is_stretch(const struct sf_ledger_sample *s)
{
    return s->is_measured && s->has_time && s->length_ns > 0 && s->start_ns >= 0;
}

static void add_measured(struct work *w, const struct sf_ledger_sample *samples, uint32_t n,
                         const struct sf_ledger_exact *exact)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_ledger_sample *s = &samples[i];
        bool is_replaced = s->part < FIRST_WAIT && exact->ns[s->part] >= 0;
        if (is_stretch(s) && is_own(w, s) && !is_replaced && s->part < SF_PART_CHILD)
            add_stretch(w, (uint64_t)s->start_ns, (uint64_t)s->start_ns + (uint64_t)s->length_ns,
                        s->part, SF_SOURCE_MEASURED);
    }
}

static void add_children(struct work *w)
{
    const struct sf_span_tree *t = w->tree;
    for (uint32_t k = t->first[w->span]; k < t->first[w->span + 1]; k++) {
        uint32_t child = t->children[k];
        int64_t shift_ns = sf_span_tree_shift_ns(t, child, w->span);
        add_stretch(w, sf_shift_sat_u64(t->places[child].start_ns, shift_ns),
                    sf_shift_sat_u64(t->places[child].end_ns, shift_ns),
                    sf_span_tree_is_local(t, child, w->span) ? SF_PART_CHILD : SF_PART_REMOTE,
                    SF_SOURCE_SPANS);
    }
}

static int order_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static uint8_t winner(const int32_t counts[SF_PARTS])
{
    uint8_t part = 0;
    while (part < SF_PART_UNKNOWN && counts[part] == 0)
        part++;
    return part;
}

static void tile(struct work *w)
{
    int32_t counts[SF_PARTS] = {0};
    uint64_t at_ns = w->place->start_ns;
    if (w->n_edges > 0) /* none when the span takes no time; then there is nothing to tile */
        qsort(w->edges, w->n_edges, sizeof(*w->edges), order_edges);
    w->pieces[w->n_pieces++] = (struct piece){at_ns, SF_PART_UNKNOWN};
    for (uint32_t i = 0; i < w->n_edges;) {
        uint64_t next_ns = w->edges[i].at_ns;
        for (; i < w->n_edges && w->edges[i].at_ns == next_ns; i++)
            counts[w->edges[i].part] += w->edges[i].step;
        struct piece *last = &w->pieces[w->n_pieces - 1];
        w->l.ns[last->part] += next_ns - at_ns;
        if (next_ns == at_ns)
            last->part = winner(counts); /* nothing of the last one: it begins here too */
        else
            w->pieces[w->n_pieces++] = (struct piece){next_ns, winner(counts)};
        at_ns = next_ns;
    }
    w->l.ns[w->pieces[w->n_pieces - 1].part] += w->place->end_ns - at_ns;
}

/* ---- figures and moments ---- */

static uint64_t move(struct work *w, enum sf_ledger_part from, enum sf_ledger_part to, uint64_t ns)
{
    ns = ns < w->l.ns[from] ? ns : w->l.ns[from];
    w->l.ns[from] -= ns;
    w->l.ns[to] += ns;
    return ns;
}

/* An exact figure displaces what is least sure first. */
static void set_exact(struct work *w, enum sf_ledger_part part, int64_t want_ns)
{
    if (want_ns < 0)
        return;
    uint64_t left_ns = (uint64_t)want_ns;
    for (int from = SF_PART_UNKNOWN; from > (int)part && left_ns > 0; from--)
        left_ns -= move(w, (enum sf_ledger_part)from, part, left_ns);
    w->l.sources[part] = SF_SOURCE_EXACT;
}

/* Measured waits lie where they were, so they stay as far as the figure goes: of many short ones
 * a single stretch tells, which may be longer than all that this span waited. A figure of none says
 * only that nobody measured any. */
static void set_exact_wait(struct work *w, enum sf_ledger_part part, int64_t want_ns)
{
    if (want_ns <= 0)
        return;
    uint64_t want = (uint64_t)want_ns, had = w->l.ns[part];
    if (had > want)
        move(w, part, SF_PART_UNKNOWN, had - want);
    for (int from = SF_PART_UNKNOWN; from >= SF_PART_CHILD && w->l.ns[part] < want; from--)
        move(w, (enum sf_ledger_part)from, part, want - w->l.ns[part]);
    w->l.sources[part] = SF_SOURCE_EXACT;
}

static enum sf_ledger_part part_at(const struct work *w, uint64_t at_ns)
{
    uint32_t low = 0, high = w->n_pieces;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (w->pieces[mid].start_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? SF_PART_UNKNOWN : (enum sf_ledger_part)w->pieces[low - 1].part;
}

static void add_moment(struct work *w, const struct sf_ledger_sample *s)
{
    enum sf_ledger_part part = (enum sf_ledger_part)s->part, from = SF_PART_UNKNOWN;
    if (part >= SF_PART_CHILD || s->worth_ns <= 0)
        return;
    if (s->has_time && s->start_ns >= 0) {
        uint64_t at_ns = (uint64_t)s->start_ns +
                         (uint64_t)(s->length_ns > 0 ? s->length_ns / 2 : 0);
        if (at_ns >= w->place->start_ns && at_ns < w->place->end_ns)
            from = part_at(w, at_ns);
    }
    if (from <= part)
        return; /* known already */
    uint64_t left_ns = (uint64_t)s->worth_ns;
    left_ns -= move(w, from, part, left_ns);
    /* A stretch shorter than the period: the rest belongs to what lies around it. */
    if (left_ns > 0 && from != SF_PART_UNKNOWN)
        move(w, SF_PART_UNKNOWN, part, left_ns);
    if (w->l.sources[part] < SF_SOURCE_SAMPLES)
        w->l.sources[part] = SF_SOURCE_SAMPLES;
}

static void add_moments(struct work *w, const struct sf_ledger_sample *samples, uint32_t n,
                        bool has_time)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_ledger_sample *s = &samples[i];
        bool is_exact = s->part < SF_PARTS && w->l.sources[s->part] == SF_SOURCE_EXACT;
        if (is_own(w, s) && !is_stretch(s) && s->has_time == has_time && !is_exact)
            add_moment(w, s);
    }
}

static void count(struct work *w, const struct sf_ledger_sample *samples, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_own(w, &samples[i])) {
            w->l.n_samples++;
            continue;
        }
        w->l.n_others++;
        if (samples[i].part == SF_PART_CPU && samples[i].worth_ns > 0)
            w->l.other_cpu_ns += (uint64_t)samples[i].worth_ns;
    }
}

enum sf_err sf_ledger_make(const struct sf_span_tree *tree, uint32_t span,
                           const struct sf_ledger_sample *samples, uint32_t n_samples,
                           const struct sf_ledger_exact *exact, struct sf_arena *req,
                           struct sf_ledger *out, struct sf_why *why)
{
    struct work w = {.tree = tree, .place = &tree->places[span], .span = span};
    size_t n_edges = 2 * ((size_t)n_samples + tree->first[span + 1] - tree->first[span]) + 1;
    w.edges = sf_arena_new_n(req, n_edges, sizeof(*w.edges));
    w.pieces = sf_arena_new_n(req, n_edges + 1, sizeof(*w.pieces));
    if (!w.edges || !w.pieces)
        return sf_fail(why, SF_ERR_LIMIT, "ledger: no memory for %u samples", n_samples);
    w.l.duration_ns = w.place->end_ns - w.place->start_ns;
    w.l.thread = find_thread(&w, samples, n_samples);
    count(&w, samples, n_samples);
    add_measured(&w, samples, n_samples, exact);
    add_children(&w);
    tile(&w);
    for (int part = SF_PART_CPU; part < FIRST_WAIT; part++)
        set_exact(&w, (enum sf_ledger_part)part, exact->ns[part]);
    for (int part = FIRST_WAIT; part <= SF_PART_SLEEP; part++)
        set_exact_wait(&w, (enum sf_ledger_part)part, exact->ns[part]);
    add_moments(&w, samples, n_samples, true);
    add_moments(&w, samples, n_samples, false);
    *out = w.l;
    return SF_OK;
}

/* ---- words ---- */

enum sf_ledger_part sf_ledger_part_of(enum sf_sample_state state)
{
    static const uint8_t parts[SF_STATES] = {[SF_STATE_UNKNOWN] = SF_PART_UNKNOWN,
                                             [SF_STATE_RUNNING] = SF_PART_CPU,
                                             [SF_STATE_RUN_QUEUE] = SF_PART_RUN_QUEUE,
                                             [SF_STATE_LOCK] = SF_PART_LOCK,
                                             [SF_STATE_DISK] = SF_PART_DISK,
                                             [SF_STATE_NET] = SF_PART_NET,
                                             [SF_STATE_IO] = SF_PART_IO,
                                             [SF_STATE_SLEEP] = SF_PART_SLEEP,
                                             [SF_STATE_GC] = SF_PART_GC};
    return (enum sf_ledger_part)parts[state];
}

const char *sf_ledger_part_name(enum sf_ledger_part part)
{
    static const char *const names[SF_PARTS] = {"cpu",   "gc",     "run_queue", "lock",
                                                "disk",  "net",    "io",        "sleep",
                                                "child", "remote", "unknown"};
    return names[part];
}

const char *sf_ledger_part_words(enum sf_ledger_part part)
{
    static const char *const words[SF_PARTS] = {"on CPU",
                                                "garbage collection",
                                                "waiting for a CPU",
                                                "lock",
                                                "disk I/O",
                                                "network I/O",
                                                "I/O",
                                                "sleep",
                                                "children in this process",
                                                "remote children",
                                                "unknown"};
    return words[part];
}

const char *sf_ledger_source_name(enum sf_ledger_source source)
{
    static const char *const names[] = {"none", "spans", "samples", "measured", "exact"};
    return names[source];
}

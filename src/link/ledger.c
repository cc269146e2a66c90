/* ledger.c - divides a span's time into parts, to the nanosecond.
 *
 * First a sweep: starts and ends of all time ranges in order, with a counter for each part; between
 * two of them the first part with a nonzero counter wins. That gives pieces, in order, that tile
 * the span. Then samples that represent a moment: each finds the piece it falls into and moves the
 * time it represents from that piece's part to its own, if its own part takes precedence and the
 * other has that much. The time of a part is one sum and not counted by piece: two samples 10 ms
 * apart that represent 10 ms each must count 20 ms wherever the edges of pieces are. */
#include "link/ledger.h"

#include <stdlib.h>

const struct sf_ledger_exact sf_ledger_unsaid = {
    {SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID,
     SF_LEDGER_UNSAID, SF_LEDGER_UNSAID, SF_LEDGER_UNSAID}};

struct edge {
    uint64_t at_ns;
    uint8_t part;
    int32_t step; /* +1 starts, -1 ends */
};

enum { FIRST_WAIT = SF_PART_LOCK };

struct piece { /* until the start of the next one */
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
    uint64_t *threads; /* threads that the span was on at some time; sorted */
    uint32_t n_threads;
    struct sf_ledger l;
};

/* ---- whose thread ---- */

static bool names_span(const struct sf_ledger_sample *s)
{
    return s->grade == SF_GRADE_EXACT || s->names_span;
}

/* A sample of a moment stands for the time around it. */
static bool tie_of(const struct sf_ledger_sample *s, struct sf_thread_tie *out)
{
    if (!names_span(s) || s->thread == 0 || !s->has_time || s->start_ns < 0)
        return false;
    uint64_t start_ns = (uint64_t)s->start_ns;
    uint64_t len_ns = s->length_ns > 0  ? (uint64_t)s->length_ns
                      : s->worth_ns > 0 ? (uint64_t)s->worth_ns
                                        : 1;
    if (s->length_ns <= 0)
        start_ns -= start_ns < len_ns / 2 ? start_ns : len_ns / 2;
    *out = (struct sf_thread_tie){s->thread, start_ns, start_ns + len_ns};
    return true;
}

/* Samples without a time tell the thread if they all have the same. */
static uint64_t find_untimed(const struct sf_ledger_sample *samples, uint32_t n, uint64_t own)
{
    uint64_t thread = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_ledger_sample *s = &samples[i];
        if (!names_span(s) || s->thread == 0 || s->thread == own)
            continue;
        if (thread != 0 && s->thread != thread)
            return own;
        thread = s->thread;
    }
    for (uint32_t i = 0; i < n; i++)
        if (names_span(&samples[i]) && samples[i].thread == own && own != 0)
            return own;
    return thread != 0 ? thread : own;
}

static int ledger_order_threads(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static enum sf_err find_threads(struct work *w, const struct sf_ledger_sample *samples, uint32_t n,
                                struct sf_arena *req, struct sf_why *why)
{
    struct sf_thread_tie *ties = sf_arena_new_n(req, n + 1u, sizeof(*ties));
    uint64_t own = w->place->thread;
    uint32_t n_ties = 0;
    if (!ties)
        return sf_fail(why, SF_ERR_LIMIT, "time breakdown: no memory for %u samples", n);
    for (uint32_t i = 0; i < n; i++)
        n_ties += tie_of(&samples[i], &ties[n_ties]);
    if (n_ties == 0)
        own = find_untimed(samples, n, own);
    enum sf_err err = sf_thread_line_make(w->place->start_ns, w->place->end_ns, own, ties, n_ties,
                                          req, &w->l.threads, why);
    if (err)
        return err;
    w->n_threads = w->l.threads.n;
    w->threads = sf_arena_new_n(req, w->n_threads, sizeof(*w->threads));
    if (!w->threads)
        return sf_fail(why, SF_ERR_LIMIT, "time breakdown: no memory for %u samples", n);
    for (uint32_t i = 0; i < w->n_threads; i++)
        w->threads[i] = w->l.threads.pieces[i].thread;
    qsort(w->threads, w->n_threads, sizeof(*w->threads), ledger_order_threads);
    return SF_OK;
}

/* The middle of the sample's part that is inside the span. */
static const struct sf_thread_piece *ledger_piece_of(const struct work *w,
                                                     const struct sf_ledger_sample *s)
{
    uint64_t from_ns = s->start_ns < 0 || !s->has_time ? w->place->start_ns : (uint64_t)s->start_ns;
    uint64_t to_ns = from_ns + (s->length_ns > 0 ? (uint64_t)s->length_ns : 0);
    from_ns = from_ns > w->place->start_ns ? from_ns : w->place->start_ns;
    to_ns = to_ns < w->place->end_ns ? to_ns : w->place->end_ns;
    return sf_thread_line_at(&w->l.threads,
                             to_ns > from_ns ? from_ns + (to_ns - from_ns) / 2 : from_ns);
}

static bool has_thread(const struct work *w, uint64_t thread)
{
    return bsearch(&thread, w->threads, w->n_threads, sizeof(*w->threads), ledger_order_threads) !=
           NULL;
}

static enum sf_ledger_role ledger_role_of(const struct work *w, const struct sf_ledger_sample *s)
{
    uint64_t thread = ledger_piece_of(w, s)->thread;
    bool is_sure = s->grade == SF_GRADE_EXACT || s->grade == SF_GRADE_INHERITED;
    bool is_cpu = s->part == SF_PART_CPU || s->part == SF_PART_GC;
    bool is_same = s->thread == thread || (!s->has_time && has_thread(w, s->thread));
    if (thread != 0 && s->thread != 0 && is_same)
        return SF_LEDGER_OWN;
    if (thread != 0 && s->thread != 0)
        return is_sure ? SF_LEDGER_BESIDE : SF_LEDGER_APART;
    if (is_sure)
        return SF_LEDGER_OWN;
    return is_cpu && s->has_time && !s->is_shared ? SF_LEDGER_ESTIMATE : SF_LEDGER_APART;
}

static bool ledger_is_in(const struct work *w, uint32_t sample)
{
    return w->l.roles[sample] <= SF_LEDGER_ESTIMATE;
}

static bool find_roles(struct work *w, const struct sf_ledger_sample *samples, uint32_t n,
                       struct sf_arena *req)
{
    uint8_t *roles = sf_arena_new_n(req, n + 1u, sizeof(*roles));
    for (uint32_t i = 0; roles && i < n; i++) {
        const struct sf_ledger_sample *s = &samples[i];
        uint64_t worth_ns = s->worth_ns > 0 ? (uint64_t)s->worth_ns : 0;
        roles[i] = (uint8_t)ledger_role_of(w, s);
        w->l.n_samples += roles[i] <= SF_LEDGER_ESTIMATE;
        w->l.n_others += roles[i] == SF_LEDGER_BESIDE;
        w->l.n_apart += roles[i] == SF_LEDGER_APART;
        if (roles[i] == SF_LEDGER_BESIDE && s->part == SF_PART_CPU)
            w->l.other_cpu_ns = sf_add_sat_u64(w->l.other_cpu_ns, worth_ns);
        if (roles[i] == SF_LEDGER_APART && s->part < SF_PARTS)
            w->l.apart_ns[s->part] = sf_add_sat_u64(w->l.apart_ns[s->part], worth_ns);
    }
    w->l.roles = roles;
    return roles != NULL;
}

/* ---- time ranges ---- */

static void add_range(struct work *w, uint64_t start_ns, uint64_t end_ns, enum sf_ledger_part part,
                      enum sf_ledger_source source)
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

static bool is_range(const struct sf_ledger_sample *s)
{
    return s->is_measured && s->has_time && s->length_ns > 0 && s->start_ns >= 0;
}

/* Adds the part of a wait in which the span was on its thread. */
static void add_wait(struct work *w, const struct sf_ledger_sample *s)
{
    const struct sf_thread_piece *on = ledger_piece_of(w, s);
    uint64_t from_ns = (uint64_t)s->start_ns, to_ns = from_ns + (uint64_t)s->length_ns;
    if (s->thread != 0 && on->thread == s->thread) {
        from_ns = from_ns > on->start_ns ? from_ns : on->start_ns;
        to_ns = to_ns < on->end_ns ? to_ns : on->end_ns;
    }
    add_range(w, from_ns, to_ns, s->part, SF_SOURCE_MEASURED);
}

static void add_measured(struct work *w, const struct sf_ledger_sample *samples, uint32_t n,
                         const struct sf_ledger_exact *exact)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_ledger_sample *s = &samples[i];
        bool is_replaced = s->part < FIRST_WAIT && exact->ns[s->part] >= 0;
        if (is_range(s) && ledger_is_in(w, i) && !is_replaced && s->part < SF_PART_CHILD)
            add_wait(w, s);
    }
}

static void ledger_add_children(struct work *w)
{
    const struct sf_span_tree *t = w->tree;
    for (uint32_t k = t->first[w->span]; k < t->first[w->span + 1]; k++) {
        uint32_t child = t->children[k];
        int64_t shift_ns = sf_span_tree_shift_ns(t, child, w->span);
        add_range(w, sf_shift_sat_u64(t->places[child].start_ns, shift_ns),
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
    if (w->n_edges > 0) /* none if the span takes no time; then there is nothing to tile */
        qsort(w->edges, w->n_edges, sizeof(*w->edges), order_edges);
    w->pieces[w->n_pieces++] = (struct piece){at_ns, SF_PART_UNKNOWN};
    for (uint32_t i = 0; i < w->n_edges;) {
        uint64_t next_ns = w->edges[i].at_ns;
        for (; i < w->n_edges && w->edges[i].at_ns == next_ns; i++)
            counts[w->edges[i].part] += w->edges[i].step;
        struct piece *last = &w->pieces[w->n_pieces - 1];
        w->l.ns[last->part] += next_ns - at_ns;
        if (next_ns == at_ns)
            last->part = winner(counts); /* the last piece is empty: replace it */
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

/* An exact figure displaces the least certain parts first. */
static void set_exact(struct work *w, enum sf_ledger_part part, int64_t want_ns)
{
    if (want_ns < 0)
        return;
    uint64_t left_ns = (uint64_t)want_ns;
    for (int from = SF_PART_UNKNOWN; from > (int)part && left_ns > 0; from--)
        left_ns -= move(w, (enum sf_ledger_part)from, part, left_ns);
    w->l.cut_ns[part] += left_ns;
    w->l.sources[part] = SF_SOURCE_EXACT;
}

/* Measured waits have a position, so they are kept as far as the figure allows; one range may stand
 * for many short waits, and be longer than all that this span waited. A figure of zero only means
 * that nothing was measured. */
static void set_exact_wait(struct work *w, enum sf_ledger_part part, int64_t want_ns)
{
    if (want_ns <= 0)
        return;
    uint64_t want = (uint64_t)want_ns, had = w->l.ns[part];
    if (had > want)
        move(w, part, SF_PART_UNKNOWN, had - want);
    for (int from = SF_PART_UNKNOWN; from >= SF_PART_CHILD && w->l.ns[part] < want; from--)
        move(w, (enum sf_ledger_part)from, part, want - w->l.ns[part]);
    w->l.cut_ns[part] += want - w->l.ns[part];
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

static void ledger_add_moment(struct work *w, const struct sf_ledger_sample *s,
                              enum sf_ledger_source source)
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
    if (from <= part || (s->is_filler && from < SF_PART_CHILD))
        return; /* that time is already explained */
    uint64_t left_ns = (uint64_t)s->worth_ns;
    left_ns -= move(w, from, part, left_ns);
    /* The range is shorter than the period: take the rest from unknown time. */
    if (left_ns > 0 && from != SF_PART_UNKNOWN)
        left_ns -= move(w, SF_PART_UNKNOWN, part, left_ns);
    w->l.cut_ns[part] = sf_add_sat_u64(w->l.cut_ns[part], left_ns);
    if (w->l.sources[part] < source)
        w->l.sources[part] = (uint8_t)source;
}

static void ledger_add_moments(struct work *w, const struct sf_ledger_sample *samples, uint32_t n,
                               bool has_time)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_ledger_sample *s = &samples[i];
        bool is_exact = s->part < SF_PARTS && w->l.sources[s->part] == SF_SOURCE_EXACT;
        if (ledger_is_in(w, i) && !is_range(s) && s->has_time == has_time && !is_exact)
            ledger_add_moment(
                w, s, w->l.roles[i] == SF_LEDGER_OWN ? SF_SOURCE_SAMPLES : SF_SOURCE_ESTIMATE);
    }
}

/* A part to which estimates contribute is an estimate, unless the contribution is very small. */
static void mark_estimates(struct work *w, const struct sf_ledger_sample *samples, uint32_t n)
{
    uint64_t guessed_ns[SF_PARTS] = {0};
    for (uint32_t i = 0; i < n; i++) {
        bool is_guess = samples[i].is_guess || w->l.roles[i] == SF_LEDGER_ESTIMATE;
        if (is_guess && ledger_is_in(w, i) && samples[i].part < SF_PARTS && samples[i].worth_ns > 0)
            guessed_ns[samples[i].part] = sf_add_sat_u64(guessed_ns[samples[i].part],
                                                         (uint64_t)samples[i].worth_ns);
    }
    for (int part = 0; part < SF_PART_CHILD; part++) {
        bool is_seen = w->l.sources[part] == SF_SOURCE_SAMPLES ||
                       w->l.sources[part] == SF_SOURCE_MEASURED;
        if (is_seen && guessed_ns[part] > w->l.ns[part] / 20)
            w->l.sources[part] = SF_SOURCE_ESTIMATE;
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
        return sf_fail(why, SF_ERR_LIMIT, "time breakdown: no memory for %u samples", n_samples);
    w.l.duration_ns = w.place->end_ns - w.place->start_ns;
    enum sf_err err = find_threads(&w, samples, n_samples, req, why);
    if (err)
        return err;
    if (!find_roles(&w, samples, n_samples, req))
        return sf_fail(why, SF_ERR_LIMIT, "time breakdown: no memory for %u samples", n_samples);
    add_measured(&w, samples, n_samples, exact);
    ledger_add_children(&w);
    tile(&w);
    for (int part = SF_PART_CPU; part < FIRST_WAIT; part++)
        set_exact(&w, (enum sf_ledger_part)part, exact->ns[part]);
    for (int part = FIRST_WAIT; part <= SF_PART_SLEEP; part++)
        set_exact_wait(&w, (enum sf_ledger_part)part, exact->ns[part]);
    ledger_add_moments(&w, samples, n_samples, true);
    ledger_add_moments(&w, samples, n_samples, false);
    mark_estimates(&w, samples, n_samples);
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
    static const char *const words[SF_PARTS] = {"running",
                                                "garbage collection",
                                                "waiting for a CPU",
                                                "lock",
                                                "disk",
                                                "network",
                                                "disk or network",
                                                "sleep",
                                                "child spans",
                                                "other services",
                                                "unknown"};
    return words[part];
}

const char *sf_ledger_source_name(enum sf_ledger_source source)
{
    static const char *const names[] = {"none",    "spans",    "estimate",
                                        "samples", "measured", "exact"};
    return names[source];
}

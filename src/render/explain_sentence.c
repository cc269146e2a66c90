/* explain_sentence.c - an explanation of a duration in one sentence. */
#include <math.h>
#include <stdlib.h>

#include "model/answer/known.h"
#include "render/explain.h"
#include "render/units.h"

enum {
    PARTS = 4,         /* maximum number of parts named */
    FUNCTIONS = 3,     /* functions named for CPU time */
    CHILD_PARTS = 2,   /* parts named of a child span */
    NAME_COLUMNS = 60, /* maximum width of a function's or a span's name */
    REASON_COLUMNS = 100
};
#define WORTH_SAYING 0.05 /* minimum share of the duration */
#define WORTH_ADDING 0.01 /* of what is left over, so that the sentence adds up */
#define MOSTLY       0.5
#define NEARLY_ALL   0.95
#define STRAGGLER    0.8 /* share of the time of several spans from which the longest is the cause */

static void add_ns(struct sf_buf *out, double ns)
{
    sf_units_duration(out, (uint64_t)llround(fmax(0, fabs(ns))));
}

static void explain_sentence_add_name(struct sf_buf *out, sf_str name)
{
    sf_units_text(out, name, NAME_COLUMNS);
}

static bool explain_sentence_is_part(const struct sf_explain_part *p, const char *name)
{
    return sf_str_eq(sf_str_from(p->name), sf_str_from(name));
}

/* "(6 ms-14 ms)", if it differs from the figure itself. */
static void explain_sentence_add_bounds(struct sf_buf *out, double ns, double low, double high)
{
    if (!isfinite(low) || !isfinite(high) || fabs(high - low) <= fabs(ns) * 0.02)
        return;
    sf_buf_add_str(out, SF_STR(" ("));
    sf_buf_add_str(out, low < 0 ? SF_STR("-") : SF_STR_NONE);
    add_ns(out, low);
    sf_buf_add_str(out, SF_STR(" to "));
    sf_buf_add_str(out, high < 0 ? SF_STR("-") : SF_STR_NONE);
    add_ns(out, high);
    sf_buf_add_str(out, SF_STR(")"));
}

static void explain_sentence_add_function(struct sf_buf *out, const struct sf_explain_function *f)
{
    explain_sentence_add_name(out, f->function);
    if (f->library.len > 0) {
        sf_buf_add_str(out, SF_STR(" (in "));
        explain_sentence_add_name(out, f->library);
        sf_buf_add_str(out, SF_STR(")"));
    } else if (f->caller.len > 0) {
        sf_buf_add_str(out, SF_STR(" in "));
        explain_sentence_add_name(out, f->caller);
    }
}

/* "checkPriceRules 10 ms (6 ms to 14 ms)" */
static void explain_sentence_add_functions(const struct sf_explain_part *p, uint32_t most,
                                           double whole, struct sf_buf *out)
{
    const char *sep = ", of that ";
    for (uint32_t i = 0; i < p->n_functions && i < most; i++) {
        const struct sf_explain_function *f = &p->functions[i];
        if (i > 0 && fabs(f->ns) < whole * WORTH_SAYING)
            break;
        sf_buf_print(out, "%s", sep);
        add_ns(out, f->ns);
        explain_sentence_add_bounds(out, f->ns, f->low_ns, f->high_ns);
        sf_buf_add_str(out, SF_STR(" "));
        explain_sentence_add_function(out, f);
        sep = ", ";
    }
}

/* Does one of several spans take nearly all of the time? */
static bool is_longest(const struct sf_explain_span *s)
{
    return s->count > 1 && (double)s->most_ns >= STRAGGLER * (double)s->ns && s->ns > 0;
}

static void add_span_name(struct sf_buf *out, const struct sf_explain_span *s, sf_str service)
{
    if (is_longest(s))
        sf_buf_add_str(out, SF_STR("1 of "));
    if (s->count > 1)
        sf_buf_print(out, "%u x ", s->count);
    if (s->service.len > 0 && !sf_str_eq(s->service, service)) {
        explain_sentence_add_name(out, s->service);
        sf_buf_add_str(out, SF_STR(": "));
    }
    explain_sentence_add_name(out, s->name);
    if (s->before_per != s->after_per)
        sf_buf_print(out, " (%.3g per request instead of %.3g)", s->after_per, s->before_per);
}

void sf_explain_sentence_runnable(const struct sf_explain_part *p, struct sf_buf *out)
{
    long long n = llround(fmax(1, p->runnable));
    sf_buf_print(out, "host had %lld runnable thread%s", n, n == 1 ? "" : "s");
}

static void explain_sentence_add_amount(const struct sf_explain_part *p, struct sf_buf *out)
{
    if (p->few > 0) {
        sf_buf_print(out, "%.0f sample%s", p->few, p->few < 1.5 ? "" : "s");
        return;
    }
    sf_buf_add_str(out, p->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    add_ns(out, (double)p->ns);
}

static void explain_sentence_add_part(const struct sf_explain_part *p, sf_str service, double whole,
                                      bool is_top, struct sf_buf *out);

/* Do the parts explain more of a span than the time in question? It outlives its parent, or runs
 * beside others. */
static bool is_longer(const struct sf_explain_span *s, double whole)
{
    return whole > 1.05 * (double)s->ns && s->ns > 0 &&
           fabs(whole - (double)s->duration_ns) <= 0.01 * whole;
}

/* " (48 ms running, of that 30 ms regexMatch in checkPriceRules; 8 ms waiting for a lock)" */
static void add_below(const struct sf_explain_span *s, struct sf_buf *out)
{
    uint32_t n = 0;
    double whole = 0;
    for (uint32_t i = 0; i < s->n_parts; i++)
        whole += (double)s->parts[i].ns;
    for (uint32_t i = 0; i < s->n_parts && n < CHILD_PARTS; i++) {
        if (fabs((double)s->parts[i].ns) < fabs(whole) * 2 * WORTH_SAYING)
            break;
        if ((double)s->parts[i].ns * whole < 0)
            continue; /* of a difference: it has the opposite sign */
        if (n == 0 && (s->count == 1 || is_longest(s)) && is_longer(s, whole)) {
            sf_buf_add_str(out, SF_STR(" (of its "));
            add_ns(out, whole);
            sf_buf_add_str(out, SF_STR(": "));
        } else {
            sf_buf_add_str(out, n > 0                            ? SF_STR("; ")
                                : s->count > 1 && !is_longest(s) ? SF_STR(" (the longest: ")
                                                                 : SF_STR(" ("));
        }
        explain_sentence_add_part(&s->parts[i], s->service, fabs(whole), false, out);
        n++;
    }
    sf_buf_add_str(out, n > 0 ? SF_STR(")") : SF_STR_NONE);
}

static bool is_nearly_all(double ns, double whole)
{
    return fabs(ns) >= fabs(whole) * NEARLY_ALL;
}

static void explain_sentence_add_children(const struct sf_explain_part *p, sf_str service,
                                          struct sf_buf *out)
{
    const char *sep = ": ";
    for (uint32_t i = 0; i < p->n_children && i < 2; i++) {
        const struct sf_explain_span *s = &p->children[i];
        if (i > 0 && fabs((double)s->ns) < fabs((double)p->ns) * 0.2)
            break;
        sf_buf_print(out, "%s", sep);
        if (p->n_children > 1 || !is_nearly_all((double)s->ns, (double)p->ns)) {
            add_ns(out, (double)s->ns);
            sf_buf_add_u8(out, ' ');
        }
        add_span_name(out, s, service);
        if (i == 0)
            add_below(s, out);
        sep = ", ";
    }
}

/* " in reserveStock", or ", 279 ms of it in reserveStock" if the part has more. */
static void add_where(const struct sf_explain_part *p, double ns, struct sf_buf *out)
{
    if (!is_nearly_all(ns, (double)p->ns)) {
        sf_buf_add_str(out, SF_STR(", "));
        add_ns(out, ns);
        sf_buf_add_str(out, SF_STR(" of it"));
    }
    sf_buf_add_str(out, SF_STR(" in "));
}

/* Where a thread waited: the function and the span that have most of the part. */
static void explain_sentence_add_wait(const struct sf_explain_part *p, sf_str service,
                                      struct sf_buf *out)
{
    const struct sf_explain_function *f = p->n_functions > 0 ? &p->functions[0] : NULL;
    const struct sf_explain_span *s = p->n_children > 0 ? &p->children[0] : NULL;
    f = f && fabs(f->ns) >= fabs((double)p->ns) * MOSTLY ? f : NULL;
    s = s && fabs((double)s->ns) >= fabs((double)p->ns) * MOSTLY ? s : NULL;
    if (f) {
        add_where(p, f->ns, out);
        explain_sentence_add_name(out, f->function);
    }
    if (f && s) {
        sf_buf_add_str(out, SF_STR(" ("));
        if (!is_nearly_all((double)s->ns, (double)p->ns)) {
            add_ns(out, (double)s->ns);
            sf_buf_add_str(out, SF_STR(" in "));
        }
        add_span_name(out, s, service);
        sf_buf_add_u8(out, ')');
    } else if (s) {
        add_where(p, (double)s->ns, out);
        add_span_name(out, s, service);
    }
}

static void explain_sentence_add_part(const struct sf_explain_part *p, sf_str service, double whole,
                                      bool is_top, struct sf_buf *out)
{
    bool is_cpu = explain_sentence_is_part(p, "on_cpu");
    bool has_spans = p->n_children > 0 &&
                     (p->children[0].n_parts > 0 || explain_sentence_is_part(p, "child"));
    explain_sentence_add_amount(p, out);
    sf_buf_print(out, " %s", p->words);
    if (p->few > 0) {
        sf_buf_add_str(out, SF_STR(" (too few to say how long)"));
        return;
    }
    if (p->runnable > 0) {
        sf_buf_add_str(out, SF_STR(" ("));
        sf_explain_sentence_runnable(p, out);
        sf_buf_add_str(out, SF_STR(")"));
    }
    if (explain_sentence_is_part(p, "unknown") && p->reason.len > 0) {
        sf_buf_add_str(out, SF_STR(" ("));
        sf_units_text(out, p->reason, REASON_COLUMNS);
        sf_buf_add_str(out, SF_STR(")"));
        return;
    }
    if (has_spans) {
        explain_sentence_add_children(p, service, out);
        return;
    }
    if (p->n_children == 0 && p->n_more_children > 0 && explain_sentence_is_part(p, "child"))
        sf_buf_add_str(out, SF_STR(" (of many names, each with a small share)"));
    if (is_cpu) {
        explain_sentence_add_functions(p, is_top ? FUNCTIONS : 2, whole, out);
        return;
    }
    explain_sentence_add_wait(p, service, out);
    if (p->reason.len > 0 && explain_sentence_is_part(p, "lock")) {
        sf_buf_add_str(out, SF_STR(", "));
        sf_units_text(out, p->reason, REASON_COLUMNS);
    }
}

/* What the sentence did not name yet: "; 12.3 ms in smaller parts", or the one part that it is. */
static void add_left_over(const struct sf_explain_view *v, const bool *is_said, double left_ns,
                          struct sf_buf *out)
{
    const struct sf_explain_part *only = NULL;
    double whole = fabs((double)v->duration_ns);
    bool is_other_way = left_ns * (double)v->duration_ns < 0;
    uint32_t n = 0;
    if (fabs(left_ns) < whole * WORTH_ADDING)
        return;
    for (uint32_t i = 0; i < v->n_parts; i++) {
        if (is_said[i] || fabs((double)v->parts[i].ns) < whole * WORTH_ADDING)
            continue;
        only = &v->parts[i];
        n++;
    }
    if (n != 1 || only->few > 0 || fabs((double)only->ns - left_ns) >= whole * WORTH_ADDING)
        only = NULL;
    sf_buf_add_str(out, is_other_way ? SF_STR("; offset by ") : SF_STR("; "));
    add_ns(out, only ? (double)only->ns : left_ns);
    sf_buf_print(out, " %s",
                 only           ? only->words
                 : is_other_way ? "in other parts"
                                : "in smaller parts");
}

static void explain_sentence_add_parts(const struct sf_explain_view *v, struct sf_buf *out)
{
    double whole = fabs((double)v->duration_ns), left_ns = (double)v->duration_ns;
    bool is_said[SF_EXPLAIN_PARTS] = {false};
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_parts && n < PARTS; i++) {
        const struct sf_explain_part *p = &v->parts[i];
        bool is_other_way = v->of == SF_EXPLAIN_DIFFERENCE &&
                            (double)p->ns * (double)v->duration_ns <= 0;
        if (is_other_way)
            continue;
        if (n > 0 && fabs((double)p->ns) < whole * WORTH_SAYING)
            break;
        sf_buf_add_str(out, n == 0 ? SF_STR(": ") : SF_STR("; "));
        explain_sentence_add_part(p, v->service, whole, true, out);
        left_ns -= (double)p->ns;
        is_said[i] = true;
        n++;
    }
    if (n > 0)
        add_left_over(v, is_said, left_ns, out);
}

/* ", 70 ms of it because GET /report is 60 % of these spans, and 10 % of the others" */
static void add_mix(const struct sf_explain_view *v, struct sf_buf *out)
{
    const struct sf_explain_mix *m = &v->mix;
    if (m->name.len == 0)
        return;
    sf_buf_add_str(out, SF_STR(", "));
    add_ns(out, m->ns);
    sf_buf_add_str(out, SF_STR(" of it because "));
    explain_sentence_add_name(out, m->name);
    sf_buf_print(out, " is %.0f %% of these spans, and %.0f %% of the others", 100 * m->after_share,
                 100 * m->before_share);
}

/* "order-service def456 takes 6.4 ms more per request than abc123 (5.2 ms to 7.6 ms): ..." */
static void add_difference(const struct sf_explain_view *v, struct sf_buf *out)
{
    double ns = (double)v->duration_ns;
    bool is_deploy = v->after_version.len > 0;
    if (v->n_spans == 0 || v->n_left == 0) {
        sf_units_text(out, v->reason, REASON_COLUMNS);
        return;
    }
    if (!v->is_significant)
        sf_buf_add_str(out, v->is_few ? SF_STR("too few spans to tell whether it is chance: ")
                                      : SF_STR("no significant difference: "));
    if (is_deploy) {
        explain_sentence_add_name(out, v->service);
        sf_buf_add_u8(out, ' ');
        explain_sentence_add_name(out, v->after_version);
        sf_buf_add_str(out, SF_STR(" takes "));
    } else {
        sf_buf_add_str(out, SF_STR("slow spans take "));
    }
    add_ns(out, ns);
    sf_buf_add_str(out,
                   ns < 0 ? SF_STR(" less per request than ") : SF_STR(" more per request than "));
    if (is_deploy)
        explain_sentence_add_name(out, v->before_version);
    else
        sf_buf_add_str(out, SF_STR("the rest"));
    double low = ns < 0 ? -v->high_ns : v->low_ns, high = ns < 0 ? -v->low_ns : v->high_ns;
    explain_sentence_add_bounds(out, ns, low, high);
    add_mix(v, out);
    if (v->is_significant)
        explain_sentence_add_parts(v, out);
}

/* ", 5.6 ms (5 ms to 6.2 ms) of it in serialize" */
static void explain_sentence_add_focus(const struct sf_explain_focus *f, struct sf_buf *out)
{
    if (f->name.len == 0)
        return;
    if (f->ns < 0.5) {
        sf_buf_add_str(out, SF_STR(", none of it seen in "));
        explain_sentence_add_name(out, f->name);
        return;
    }
    sf_buf_add_str(out, SF_STR(", "));
    sf_buf_add_str(out, f->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    add_ns(out, f->ns);
    explain_sentence_add_bounds(out, f->ns, f->low_ns, f->high_ns);
    sf_buf_add_str(out, SF_STR(" of it in "));
    if (f->count > 1)
        sf_buf_print(out, "%u x ", f->count);
    explain_sentence_add_name(out, f->name);
}

static void add_answer(const struct sf_explain_view *v, struct sf_buf *out)
{
    if (v->of == SF_EXPLAIN_DIFFERENCE) {
        add_difference(v, out);
        return;
    }
    if (v->of == SF_EXPLAIN_SET && v->n_spans == 0) {
        sf_units_text(out, v->reason, REASON_COLUMNS);
        return;
    }
    add_ns(out, (double)v->duration_ns);
    if (v->of == SF_EXPLAIN_SET) {
        sf_buf_add_str(out, SF_STR(", mean of "));
        sf_buf_print(out, "%llu span%s", (unsigned long long)v->n_spans,
                     v->n_spans == 1 ? "" : "s");
    }
    explain_sentence_add_focus(&v->focus, out);
    explain_sentence_add_parts(v, out);
    if (v->n_parts == 0)
        sf_buf_add_str(out, SF_STR(": no time to explain"));
}

void sf_explain_sentence(const struct sf_explain_view *v, struct sf_buf *out)
{
    add_answer(v, out);
    if (v->is_partial)
        sf_buf_add_str(out, v->of == SF_EXPLAIN_SPAN || v->of == SF_EXPLAIN_TRACE
                                ? SF_STR(" (part of the trace was not read)")
                                : SF_STR(" (part of the data was not read)"));
}

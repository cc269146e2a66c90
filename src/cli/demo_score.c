/* Compares the cost of each problem with one answer of the server: a function with what it calls in
 * a span set, a part of an explanation, a number of child spans, or a difference that compare
 * found, a share that failed, or a slope of the memory in use. A problem is found when it is among
 * its service's findings, when compare calls its function significant, or when the status messages
 * of the failed spans name it. */
#include "cli/demo_score.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "cli/client.h"
#include "cli/demo_problem.h"
#include "render/units.h"
#include "wire/json.h"

enum { ANSWER_LEN = 32 << 20 };
#define NORMAL_95 1.96

struct measured {
    double value, low, high; /* low, high: NAN, a count is exact */
    bool is_there, is_significant;
};

struct score {
    struct sf_client client;
    struct sf_arena req; /* memory for one answer */
    struct sf_buf answer;
    struct sf_demo_sale sale;
};

/* ---- queries to the server ---- */

static enum sf_err demo_score_ask(struct score *s, const char *path, const char *name,
                                  const char *value, const char *more, struct sf_why *why)
{
    struct sf_buf line = {0};
    enum sf_err err;
    sf_arena_reset(&s->req);
    sf_buf_done(&s->answer);
    sf_buf_print(&line, "%s?%s=", path, name);
    sf_client_encode(&line, sf_str_from(value));
    sf_buf_print(&line, "%s", more ? more : "");
    sf_buf_add_u8(&line, 0);
    err = sf_buf_ok(&line)
              ? sf_client_get(&s->client, (const char *)line.p, "application/json", &s->answer, why)
              : sf_no_memory(why, "the question");
    sf_buf_done(&line);
    return err;
}

/* ---- a function with its callees ---- */

struct node {
    uint32_t parent;
    bool is_subject, is_within; /* is_subject: the function itself; is_within: it, or called by
                                 * it */
    double total;
};

static double share_of_subject(struct node *nodes, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 1; i < n; i++)
        nodes[i].is_within = nodes[i].is_subject || nodes[nodes[i].parent].is_within;
    for (uint32_t i = n; i-- > 1;) /* parents come first */
        nodes[nodes[i].parent].total += nodes[i].total;
    for (uint32_t i = 1; i < n; i++)
        if (nodes[i].is_subject && !nodes[nodes[i].parent].is_within)
            sum += nodes[i].total;
    return n > 0 && nodes[0].total > 0 ? sum / nodes[0].total : 0;
}

/* The profile's frames come before its nodes. */
static double demo_score_read_profile(struct score *s, struct sf_json *j, sf_str subject)
{
    uint32_t cap = (uint32_t)(s->answer.len / 8) + 1, n_frames = 0, n = 0; /* "[0,0,0]," */
    bool *is_subject = sf_arena_new_n(&s->req, cap, sizeof(*is_subject));
    struct node *nodes = sf_arena_new_n(&s->req, cap, sizeof(*nodes));
    sf_str key;
    if (!is_subject || !nodes || !sf_json_object(j))
        return 0;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("frames")) && sf_json_array(j)) {
            for (; sf_json_item(j); n_frames++) {
                if (!sf_json_object(j))
                    return 0;
                while (sf_json_key(j, &key)) {
                    if (sf_str_eq(key, SF_STR("function")) && n_frames < cap)
                        is_subject[n_frames] = sf_str_eq(sf_json_str(j), subject);
                    else
                        sf_json_skip(j);
                }
            }
        } else if (sf_str_eq(key, SF_STR("nodes")) && sf_json_array(j)) {
            while (sf_json_item(j) && sf_json_array(j)) {
                int64_t of[3] = {0};
                for (int i = 0; sf_json_item(j); i++)
                    of[i < 3 ? i : 2] = sf_json_i64(j);
                bool is_frame = of[1] >= 0 && of[1] < (int64_t)n_frames;
                if (n == cap || of[0] < 0 || of[0] > (int64_t)n)
                    return 0;
                nodes[n++] = (struct node){.parent = (uint32_t)of[0],
                                           .is_subject = is_frame && is_subject[of[1]],
                                           .total = (double)of[2]};
            }
        } else {
            sf_json_skip(j);
        }
    }
    return share_of_subject(nodes, n);
}

static void demo_score_read_set(struct score *s, struct sf_json *j, sf_str subject,
                                struct measured *out)
{
    double mean = 0, samples = 0, share = 0;
    sf_str key;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("meanValue")))
            mean = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("samples")))
            samples = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("profile")))
            share = demo_score_read_profile(s, j, subject);
        else
            sf_json_skip(j);
    }
    out->is_there = share * samples >= 1;
    out->value = share * mean;
    /* Standard error of a count of samples: its square root. */
    double error = out->is_there ? NORMAL_95 * out->value / sqrt(share * samples) : 0;
    out->low = out->value - error;
    out->high = out->value + error;
}

/* ---- explanations and comparisons ---- */

static double number_or_nan(struct sf_json *j)
{
    if (sf_json_peek(j) != SF_JSON_NULL)
        return sf_json_f64(j);
    sf_json_skip(j);
    return NAN;
}

static void read_children(struct sf_json *j, sf_str subject, struct measured *out)
{
    sf_str key;
    while (sf_json_item(j) && sf_json_object(j)) {
        double count = 0;
        bool is_it = false;
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("name")))
                is_it = sf_str_eq(sf_json_str(j), subject);
            else if (sf_str_eq(key, SF_STR("count")))
                count = sf_json_f64(j);
            else
                sf_json_skip(j);
        }
        if (is_it && !out->is_there)
            *out = (struct measured){.value = count, .low = NAN, .high = NAN, .is_there = true};
    }
}

static void demo_score_read_part(struct sf_json *j, const struct sf_demo_problem *p,
                                 struct measured *out)
{
    struct measured m = {.low = NAN, .high = NAN};
    sf_str key, subject = sf_str_from(p->subject);
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("part")))
            m.is_there = sf_str_eq(sf_json_str(j), subject);
        else if (sf_str_eq(key, SF_STR("ns")))
            m.value = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("low_ns")))
            m.low = number_or_nan(j);
        else if (sf_str_eq(key, SF_STR("high_ns")))
            m.high = number_or_nan(j);
        else if (p->from == SF_DEMO_FROM_COUNT && sf_str_eq(key, SF_STR("children")) &&
                 sf_json_array(j))
            read_children(j, subject, out);
        else
            sf_json_skip(j);
    }
    if (p->from == SF_DEMO_FROM_PART && m.is_there)
        *out = m;
}

static void demo_score_read_function(struct sf_json *j, sf_str subject, struct measured *out)
{
    struct measured m = {.low = NAN, .high = NAN};
    sf_str key;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("function")))
            m.is_there = sf_str_eq(sf_json_str(j), subject);
        else if (sf_str_eq(key, SF_STR("delta")))
            m.value = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("low")))
            m.low = number_or_nan(j);
        else if (sf_str_eq(key, SF_STR("high")))
            m.high = number_or_nan(j);
        else if (sf_str_eq(key, SF_STR("isSignificant")))
            m.is_significant = sf_json_bool(j);
        else
            sf_json_skip(j);
    }
    if (m.is_there)
        *out = m;
}

static enum sf_err demo_score_measure(struct score *s, const struct sf_demo_problem *p,
                                      struct measured *out, struct sf_why *why)
{
    static const char *const paths[] = {[SF_DEMO_FROM_SET] = "/api/v1/cohort",
                                        [SF_DEMO_FROM_PART] = "/api/v1/explain",
                                        [SF_DEMO_FROM_COUNT] = "/api/v1/explain",
                                        [SF_DEMO_FROM_COMPARE] = "/api/v1/compare"};
    const char *list = p->from == SF_DEMO_FROM_COMPARE ? "functions" : "parts";
    struct sf_json j;
    sf_str key;
    enum sf_err err = demo_score_ask(s, paths[p->from], "q", p->query, p->more, why);
    *out = (struct measured){0};
    if (err)
        return err;
    sf_json_init(&j, sf_buf_str(&s->answer), &s->req);
    if (!sf_json_object(&j))
        return sf_json_why(&j, p->name, why);
    if (p->from == SF_DEMO_FROM_SET) {
        demo_score_read_set(s, &j, sf_str_from(p->subject), out);
        return sf_json_why(&j, p->name, why);
    }
    while (sf_json_key(&j, &key)) {
        if (!sf_str_eq(key, sf_str_from(list)) || !sf_json_array(&j)) {
            sf_json_skip(&j);
            continue;
        }
        while (sf_json_item(&j) && sf_json_object(&j)) {
            if (p->from == SF_DEMO_FROM_COMPARE)
                demo_score_read_function(&j, sf_str_from(p->subject), out);
            else
                demo_score_read_part(&j, p, out);
        }
    }
    return sf_json_why(&j, p->name, why);
}

/* ---- measured and planted costs ---- */

/* The value of the last series of a TraceQL metrics query; 0: none. */
static enum sf_err demo_score_read_value(struct score *s, const char *query, const char *more,
                                         double *out, struct sf_why *why)
{
    struct sf_json j;
    sf_str key;
    enum sf_err err = demo_score_ask(s, "/api/metrics/query", "q", query, more, why);
    *out = 0;
    if (err)
        return err;
    sf_json_init(&j, sf_buf_str(&s->answer), &s->req);
    if (!sf_json_object(&j))
        return sf_json_why(&j, "the answer", why);
    while (sf_json_key(&j, &key)) {
        if (!sf_str_eq(key, SF_STR("series")) || !sf_json_array(&j)) {
            sf_json_skip(&j);
            continue;
        }
        while (sf_json_item(&j) && sf_json_object(&j)) {
            while (sf_json_key(&j, &key)) {
                if (sf_str_eq(key, SF_STR("value")))
                    *out = sf_json_f64(&j);
                else
                    sf_json_skip(&j);
            }
        }
    }
    return sf_json_why(&j, "the answer", why);
}

static enum sf_err read_watch(struct score *s, const struct sf_demo_problem *p, double *out,
                              struct sf_why *why)
{
    char query[160];
    enum sf_err err;
    *out = p->planted;
    if (!p->watch)
        return SF_OK;
    snprintf(query, sizeof(query), "%s | avg_over_time(%s)", p->query, p->watch);
    err = demo_score_read_value(s, query, NULL, out, why);
    *out *= 1000;
    return err;
}

/* Failed spans of 1,000; found when a message of the failed ones contains the word. */
static enum sf_err measure_failed(struct score *s, const struct sf_demo_problem *p,
                                  struct measured *out, struct sf_why *why)
{
    char query[200];
    double all = 0, failed = 0, named = 0, share, error;
    int inner = (int)strlen(p->query) - 2; /* without its " }" */
    enum sf_err err;
    snprintf(query, sizeof(query), "%s | count_over_time()", p->query);
    err = demo_score_read_value(s, query, NULL, &all, why);
    snprintf(query, sizeof(query), "%.*s && status = error } | count_over_time()", inner, p->query);
    if (!err)
        err = demo_score_read_value(s, query, NULL, &failed, why);
    snprintf(query, sizeof(query),
             "%.*s && status = error && statusMessage =~ \".*%s.*\" } | count_over_time()", inner,
             p->query, p->subject);
    if (!err)
        err = demo_score_read_value(s, query, NULL, &named, why);
    *out = (struct measured){0};
    if (err || all <= 0)
        return err;
    share = failed / all;
    error = NORMAL_95 * sqrt(share * (1 - share) / all);
    *out = (struct measured){.value = 1000 * share,
                             .low = 1000 * fmax(0, share - error),
                             .high = 1000 * (share + error),
                             .is_there = failed > 0,
                             .is_significant = named > failed / 2};
    return SF_OK;
}

static void read_growth(struct sf_json *j, const struct sf_demo_problem *p, struct measured *out)
{
    struct measured m = {0};
    bool is_growth = false;
    size_t at;
    sf_str key;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("kind")))
            is_growth = sf_str_eq(sf_json_str(j), SF_STR("memory_growth"));
        else if (sf_str_eq(key, SF_STR("sentence")))
            m.is_there = sf_str_find(sf_json_str(j), sf_str_from(p->finding), &at);
        else if (sf_str_eq(key, SF_STR("perHour")))
            m.value = number_or_nan(j);
        else if (sf_str_eq(key, SF_STR("perHourLow")))
            m.low = number_or_nan(j);
        else if (sf_str_eq(key, SF_STR("perHourHigh")))
            m.high = number_or_nan(j);
        else
            sf_json_skip(j);
    }
    if (is_growth && m.is_there)
        *out = m;
}

/* Spans per hour while the shop ran, with its uncertainty: on a busy machine the rate varies. From
 * the rates of four quarters of the time; 3.18 is Student's t for 3 degrees of freedom. */
static enum sf_err measure_rate(struct score *s, const char *spans, double *out_per_hour,
                                double *out_share, struct sf_why *why)
{
    enum { QUARTERS = 4 };
    char query[160], range[80];
    int64_t len_s = (s->sale.until_s - s->sale.from_s) / QUARTERS;
    double rates[QUARTERS], mean = 0, squares = 0;
    enum sf_err err = SF_OK;
    *out_per_hour = *out_share = 0;
    snprintf(query, sizeof(query), "%s | count_over_time()", spans);
    for (int i = 0; !err && len_s > 0 && i < QUARTERS; i++) {
        int64_t from_s = s->sale.from_s + i * len_s;
        snprintf(range, sizeof(range), "&start=%" PRId64 "&end=%" PRId64, from_s, from_s + len_s);
        err = demo_score_read_value(s, query, range, &rates[i], why);
        rates[i] *= 3600 / (double)len_s;
        mean += rates[i] / QUARTERS;
    }
    if (err || mean <= 0)
        return err;
    for (int i = 0; i < QUARTERS; i++)
        squares += (rates[i] - mean) * (rates[i] - mean);
    *out_per_hour = mean;
    *out_share = 3.18 * sqrt(squares / (QUARTERS - 1) / QUARTERS) / mean;
    return SF_OK;
}

/* Divides a slope in bytes per hour by the spans per hour. */
static enum sf_err measure_growth(struct score *s, const struct sf_demo_problem *p,
                                  struct measured *out, struct sf_why *why)
{
    double per_hour, rate_share, half;
    struct sf_json j;
    sf_str key;
    enum sf_err err = measure_rate(s, p->query, &per_hour, &rate_share, why);
    if (!err)
        err = demo_score_ask(s, "/api/v1/findings", "service", p->service, NULL, why);
    *out = (struct measured){0};
    if (err)
        return err;
    sf_json_init(&j, sf_buf_str(&s->answer), &s->req);
    if (!sf_json_object(&j))
        return sf_json_why(&j, p->name, why);
    while (sf_json_key(&j, &key)) {
        if (!sf_str_eq(key, SF_STR("findings")) || !sf_json_array(&j)) {
            sf_json_skip(&j);
            continue;
        }
        while (sf_json_item(&j) && sf_json_object(&j))
            read_growth(&j, p, out);
    }
    if (per_hour <= 0 || out->value <= 0) {
        *out = (struct measured){0};
        return sf_json_why(&j, p->name, why);
    }
    half = out->value / per_hour * hypot((out->high - out->low) / 2 / out->value, rate_share);
    *out = (struct measured){.value = out->value / per_hour,
                             .low = fmax(0, out->value / per_hour - half),
                             .high = out->value / per_hour + half,
                             .is_there = out->is_there};
    return sf_json_why(&j, p->name, why);
}

/* Position of the problem among its service's findings, from 1; 0: not found. */
static enum sf_err find_finding(struct score *s, const struct sf_demo_problem *p, uint32_t *out,
                                struct sf_why *why)
{
    struct sf_json j;
    sf_str key;
    size_t at;
    uint32_t n = 0;
    enum sf_err err = demo_score_ask(s, "/api/v1/findings", "service", p->service, NULL, why);
    *out = 0;
    if (err)
        return err;
    sf_json_init(&j, sf_buf_str(&s->answer), &s->req);
    if (!sf_json_object(&j))
        return sf_json_why(&j, p->name, why);
    while (sf_json_key(&j, &key)) {
        if (!sf_str_eq(key, SF_STR("findings")) || !sf_json_array(&j)) {
            sf_json_skip(&j);
            continue;
        }
        for (n = 1; sf_json_item(&j) && sf_json_object(&j); n++) {
            while (sf_json_key(&j, &key)) {
                if (!sf_str_eq(key, SF_STR("sentence")))
                    sf_json_skip(&j);
                else if (sf_str_find(sf_json_str(&j), sf_str_from(p->finding), &at) && !*out)
                    *out = n;
            }
        }
    }
    return sf_json_why(&j, p->name, why);
}

/* ---- the table ---- */

static void demo_score_add_amount(struct sf_buf *out, double value, const char *unit)
{
    sf_units_amount(out, (int64_t)llround(value), sf_str_from(unit));
}

static void print_row(const struct sf_demo_problem *p, double planted, const struct measured *m,
                      const char *found)
{
    struct sf_buf cost = {0}, seen = {0};
    demo_score_add_amount(&cost, planted, p->unit);
    if (!m->is_there)
        sf_buf_print(&seen, "nothing");
    else
        demo_score_add_amount(&seen, m->value, p->unit);
    if (m->is_there && isfinite(m->low) && isfinite(m->high)) {
        sf_buf_print(&seen, " (");
        demo_score_add_amount(&seen, m->low, p->unit);
        sf_buf_print(&seen, " to ");
        demo_score_add_amount(&seen, m->high, p->unit);
        sf_buf_print(&seen, ")");
    }
    printf("%-11s %-36s %8.*s  %-30.*s  %s\n", p->name, p->what, SF_STR_ARG(sf_buf_str(&cost)),
           SF_STR_ARG(sf_buf_str(&seen)), found);
    sf_buf_done(&cost);
    sf_buf_done(&seen);
}

static bool demo_score_tell(struct score *s, const struct sf_demo_problem *p)
{
    struct sf_why why = {0};
    struct measured m;
    double planted = 0;
    uint32_t finding = 0;
    char found[80];
    enum sf_err err = read_watch(s, p, &planted, &why);
    if (!err && p->from == SF_DEMO_FROM_FAILED)
        err = measure_failed(s, p, &m, &why);
    else if (!err && p->from == SF_DEMO_FROM_GROWTH)
        err = measure_growth(s, p, &m, &why);
    else if (!err)
        err = demo_score_measure(s, p, &m, &why);
    if (!err && p->finding)
        err = find_finding(s, p, &finding, &why);
    if (err) {
        printf("%-11s could not be measured: %s\n", p->name, why.text);
        return false;
    }
    bool is_compared = m.is_there && m.is_significant && m.low > 0;
    bool is_found = is_compared || finding > 0;
    if (finding && !is_compared)
        snprintf(found, sizeof(found), "yes, finding %u of %s", finding, p->service);
    else
        snprintf(found, sizeof(found), "%s",
                 !is_found                        ? "no"
                 : p->from == SF_DEMO_FROM_FAILED ? "yes, by its message"
                                                  : "yes, by comparing");
    print_row(p, planted, &m, found);
    return is_found;
}

uint32_t sf_demo_score_tell(const char *server, const struct sf_demo_switches *switches,
                            struct sf_demo_sale sale)
{
    struct score s = {.client = {.server = server}, .sale = sale};
    uint32_t n_asked = 0, n_missed = 0, n_off = 0;
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++)
        n_off += switches->was_off[i];
    if (n_off == SF_DEMO_PROBLEMS)
        return 0;
    if (!sf_arena_init(&s.req, ANSWER_LEN)) {
        printf("\nNot enough memory to compare planted and found problems.\n");
        return 0;
    }
    printf("\nPlanted and found problems (95 %% intervals)\n\n%-11s %-36s %8s  %-30s  %s\n",
           "problem", "", "planted", "measured", "found");
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++) {
        if (switches->was_off[i]) /* switched off for some time: the measured cost is not the
                                   * planted one */
            continue;
        n_asked++;
        n_missed += !demo_score_tell(&s, &sf_demo_problems[i]);
        fflush(stdout);
    }
    printf("\n%u of %u found.\n", n_asked - n_missed, n_asked);
    sf_buf_done(&s.answer);
    sf_arena_done(&s.req);
    return n_missed;
}

/* demo_steps.c - the steps of `spanflame demo`. Each step prints a command, runs it in this process
 * with its output captured, and checks that the answer contains an expected word. The span to
 * explain is chosen among the slowest ones by the share of CPU time in its explanation. */
#include "cli/demo_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/time_unit.h"
#include "cli/client.h"
#include "cli/command.h"
#include "os/clock.h"
#include "wire/json.h"

#define MOSTLY 0.5 /* required share of CPU time in a span's duration */
#define TOTALS "{ resource.service.name = \"order-service\" && name = \"order.calculate_totals\" }"

/* N_TRIED: number of the slowest spans that are tried to find one that used the CPU instead of
 * waiting for it. N_LISTED: rows that `spanflame search` shows. */
enum { MAX_WORDS = 12, N_ASKED = 1000, N_SHOWN = 5, N_TRIED = 12, N_LISTED = 20, RANGE_S = 3600 };

struct story {
    const struct sf_demo_story *of;
    const char *server;
    int n_steps;
    char trace[40], span[24]; /* ids of a slow order.calculate_totals whose time was mostly CPU
                               * time */
    char slow[200];           /* the query that finds it and others like it */
    int64_t until_s;          /* end time of all searches, because the shop continues to run */
    char until[24];
    enum sf_err err; /* error of the first step that failed */
    struct sf_why why;
};

/* ---- one step ---- */

static void print_command(const char *const *words)
{
    printf("   $ spanflame");
    for (size_t i = 0; words[i]; i++)
        printf(strpbrk(words[i], " {}\"&|") ? " '%s'" : " %s", words[i]);
    printf("\n\n");
    fflush(stdout);
}

static const struct sf_command *find_command(const char *name)
{
    for (size_t i = 0; i < sf_cli_n_commands; i++) {
        if (!strcmp(sf_cli_commands[i].name, name))
            return &sf_cli_commands[i];
    }
    return NULL;
}

/* Runs the command and captures its output, so that it can be checked as well as printed. */
static int run_kept(const struct sf_command *command, const char *const *words, struct sf_buf *out)
{
    char *argv[MAX_WORDS + 3] = {0}, chunk[4096];
    FILE *kept = tmpfile();
    int before, code, argc = 0;
    size_t n;

    if (!kept)
        return 1;
    /* A command may reorder the words of its argument list but not change them. */
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    fflush(stdout);
    before = dup(STDOUT_FILENO);
    dup2(fileno(kept), STDOUT_FILENO);
    code = command->run(argc, argv);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(kept);
    while ((n = fread(chunk, 1, sizeof(chunk), kept)) > 0)
        sf_buf_add(out, chunk, n);
    fclose(kept);
    return code;
}

/* `shows`: a word that the answer must contain. */
static enum sf_err ask_one(struct story *s, const char *title, const char *shows,
                           const char *const *given, struct sf_why *why)
{
    const char *words[MAX_WORDS + 3] = {0};
    const struct sf_command *command = find_command(given[0]);
    struct sf_buf out = {0};
    enum sf_err err = SF_OK;
    size_t n = 0, at;
    int code;

    for (; given[n]; n++)
        words[n] = given[n];
    words[n++] = "--server";
    words[n++] = s->server;
    if (title)
        printf("\n%d. %s\n", ++s->n_steps, title);
    print_command(words);
    code = command ? run_kept(command, words, &out) : 2;
    if (sf_buf_ok(&out))
        fwrite(out.p, 1, out.len, stdout);
    fflush(stdout);
    if (code)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "step %d, `spanflame %s`, ended with code %d",
                      s->n_steps, given[0], code);
    else if (s->of->is_all_planted && !sf_str_find(sf_buf_str(&out), sf_str_from(shows), &at))
        err = sf_fail(why, SF_ERR_NOT_FOUND, "step %d, `spanflame %s`, does not show %s",
                      s->n_steps, given[0], shows);
    sf_buf_done(&out);
    return err;
}

static void demo_steps_note_failure(struct story *s, enum sf_err err, const struct sf_why *why)
{
    printf("(%s)\n", why->text);
    if (!s->err) {
        s->err = err;
        s->why = *why;
    }
}

/* A failed query does not end the demo: the page and the other steps still work. */
static void demo_step(struct story *s, const char *title, const char *shows,
                      const char *const *given)
{
    struct sf_why why = {0};
    enum sf_err err;
    if (s->of->between)
        s->of->between(s->of->arg);
    err = ask_one(s, title, shows, given, &why);
    if (err)
        demo_steps_note_failure(s, err, &why);
}

/* ---- choosing a slow span ---- */

struct found {
    char trace[40], span[24];
    uint64_t ns;
};

static int slower(const void *a, const void *b)
{
    uint64_t x = ((const struct found *)a)->ns, y = ((const struct found *)b)->ns;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void demo_steps_keep_text(char *out, size_t cap, sf_str text)
{
    snprintf(out, cap, "%.*s", SF_STR_ARG(text));
}

static void demo_steps_read_spans(struct sf_json *j, struct found *f)
{
    sf_str key;
    while (sf_json_item(j)) {
        uint64_t ns = 0;
        sf_str id = {0};
        if (!sf_json_object(j))
            return;
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("spanID")))
                id = sf_json_str(j);
            else if (sf_str_eq(key, SF_STR("durationNanos")))
                ns = sf_json_u64(j);
            else
                sf_json_skip(j);
        }
        if (ns > f->ns) {
            f->ns = ns;
            demo_steps_keep_text(f->span, sizeof(f->span), id);
        }
    }
}

static void read_trace(struct sf_json *j, struct found *f)
{
    sf_str key;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("traceID"))) {
            demo_steps_keep_text(f->trace, sizeof(f->trace), sf_json_str(j));
        } else if (sf_str_eq(key, SF_STR("spanSet")) && sf_json_object(j)) {
            while (sf_json_key(j, &key)) {
                if (sf_str_eq(key, SF_STR("spans")) && sf_json_array(j))
                    demo_steps_read_spans(j, f);
                else
                    sf_json_skip(j);
            }
        } else {
            sf_json_skip(j);
        }
    }
}

static size_t read_found(sf_str text, struct found *out, size_t cap, struct sf_arena *req)
{
    struct sf_json j;
    size_t n = 0;
    sf_str key;
    sf_json_init(&j, text, req);
    if (!sf_json_object(&j))
        return 0;
    while (sf_json_key(&j, &key)) {
        if (!sf_str_eq(key, SF_STR("traces")) || !sf_json_array(&j)) {
            sf_json_skip(&j);
            continue;
        }
        while (sf_json_item(&j) && sf_json_object(&j)) {
            struct found f = {0};
            read_trace(&j, &f);
            if (f.ns && n < cap)
                out[n++] = f;
        }
    }
    return sf_json_ok(&j) ? n : 0;
}

/* Share of CPU time in a span's duration, from its explanation; 0 when that is not available. */
static double cpu_share(struct story *s, const struct found *f, struct sf_arena *req)
{
    struct sf_client client = {.server = s->server};
    struct sf_buf answer = {0};
    struct sf_json j;
    double cpu = 0, whole = 0;
    char path[160];
    sf_str key;
    snprintf(path, sizeof(path), "/api/v1/explain?trace=%s&span=%s", f->trace, f->span);
    if (sf_client_get(&client, path, "application/json", &answer, NULL))
        return 0;
    sf_json_init(&j, sf_buf_str(&answer), req);
    for (bool is_open = sf_json_object(&j); is_open && sf_json_key(&j, &key);) {
        if (sf_str_eq(key, SF_STR("duration_ns"))) {
            whole = sf_json_f64(&j);
        } else if (sf_str_eq(key, SF_STR("parts")) && sf_json_array(&j)) {
            while (sf_json_item(&j) && sf_json_object(&j)) {
                bool is_cpu = false;
                while (sf_json_key(&j, &key)) {
                    if (sf_str_eq(key, SF_STR("part")))
                        is_cpu = sf_str_eq(sf_json_str(&j), SF_STR("on_cpu"));
                    else if (sf_str_eq(key, SF_STR("ns")) && is_cpu)
                        cpu = sf_json_f64(&j);
                    else
                        sf_json_skip(&j);
                }
            }
        } else {
            sf_json_skip(&j);
        }
    }
    sf_buf_done(&answer);
    return whole > 0 ? cpu / whole : 0;
}

/* The planted problem uses CPU time; on a busy machine the slowest spans wait for a CPU instead. */
static size_t pick_busy(struct story *s, const struct found *found, size_t n, struct sf_arena *req,
                        double *out_share)
{
    size_t picked = 0;
    *out_share = -1;
    for (size_t i = 0; i < n && i < N_TRIED && *out_share < MOSTLY; i++) {
        double share = cpu_share(s, &found[i], req);
        if (share > *out_share) {
            *out_share = share;
            picked = i;
        }
    }
    return picked;
}

/* The results of a search, slowest first; `found` has space for `limit`. */
static enum sf_err demo_steps_search(struct story *s, const char *query, size_t limit,
                                     struct found *found, size_t *out_n, struct sf_arena *req,
                                     struct sf_why *why)
{
    struct sf_client client = {.server = s->server};
    struct sf_buf path = {0}, answer = {0};
    enum sf_err err;
    sf_buf_print(&path, "/api/search?limit=%zu&spss=1&start=%" PRId64 "&end=%" PRId64 "&q=", limit,
                 s->until_s - RANGE_S, s->until_s);
    sf_client_encode(&path, sf_str_from(query));
    sf_buf_add(&path, "", 1);
    err = sf_buf_ok(&path)
              ? sf_client_get(&client, (const char *)path.p, "application/json", &answer, why)
              : sf_no_memory(why, "the slowest");
    if (!err) {
        *out_n = read_found(sf_buf_str(&answer), found, limit, req);
        qsort(found, *out_n, sizeof(*found), slower);
    }
    sf_buf_done(&path);
    sf_buf_done(&answer);
    return err;
}

/* Finds spans slower than `limit_ns` and picks the first of the newest, which the step's search
 * shows, that used the CPU. */
static enum sf_err pick_above(struct story *s, uint64_t limit_ns, struct found *found,
                              struct sf_arena *req, double *best, struct sf_why *why)
{
    char query[sizeof(s->slow)];
    double share;
    size_t n = 0, at;
    enum sf_err err;
    snprintf(query, sizeof(query),
             "{ resource.service.name = \"order-service\" && name = "
             "\"order.calculate_totals\" && duration > %" PRIu64 "ms }",
             limit_ns / SF_NS_PER_MS);
    err = demo_steps_search(s, query, N_LISTED, found, &n, req, why);
    if (err || !n)
        return err;
    at = pick_busy(s, found, n, req, &share);
    if (share <= *best)
        return SF_OK;
    *best = share;
    memcpy(s->trace, found[at].trace, sizeof(s->trace));
    memcpy(s->span, found[at].span, sizeof(s->span));
    memcpy(s->slow, query, sizeof(query));
    return SF_OK;
}

/* Tries the five slowest; if those only waited for a CPU, the slowest quarter, then half. */
static enum sf_err find_slowest(struct story *s, struct sf_why *why)
{
    struct sf_arena req = {0};
    struct found *found = NULL;
    uint64_t limits_ns[3];
    double best = -1;
    size_t n = 0;
    bool has_memory = sf_arena_init(&req, 16 << 20) &&
                      (found = sf_arena_new_n(&req, N_ASKED, sizeof(*found)));
    enum sf_err err = has_memory ? demo_steps_search(s, TOTALS, N_ASKED, found, &n, &req, why)
                                 : sf_no_memory(why, "the slowest");
    if (!err && !n)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "there is no span order.calculate_totals");
    if (!err) {
        limits_ns[0] = found[n > N_SHOWN ? N_SHOWN : n - 1].ns;
        limits_ns[1] = found[n / 4].ns;
        limits_ns[2] = found[n / 2].ns;
    }
    for (int i = 0; !err && i < 3 && best < MOSTLY; i++)
        err = pick_above(s, limits_ns[i], found, &req, &best, why);
    sf_arena_done(&req);
    return err;
}

/* ---- the steps ---- */

#define STEP(title, shows, ...) demo_step(s, title, shows, (const char *const[]){__VA_ARGS__, NULL})

static void tell_one_order(struct story *s)
{
    printf("\nOne order was slow. Why?\n");
    STEP(NULL, "running", "why", s->span, "--trace", s->trace);
    printf("\nThe same on the page: %s/?from=now-15m&view=trace&id=%s&span=%s&pane=why\n",
           s->of->page, s->trace, s->span);
}

static void tell_its_span(struct story *s)
{
    STEP("Totals are slow: which ones?", s->trace, "search", s->slow, "--from", "now-1h", "--until",
         s->until);
    STEP("One of them, span by span, with its critical path and hottest functions", "order-service",
         "trace", s->trace);
    STEP("Where did that span's time go?", "CPU", "ledger", s->span, "--trace", s->trace);
    STEP("Which code was it?", "calculateTotals", "flame", "--span", s->span, "--trace", s->trace);
}

enum sf_err sf_demo_steps_tell(const struct sf_demo_story *story, struct sf_why *why)
{
    struct story one = {.of = story, .server = story->server}, *s = &one;
    struct sf_why said = {0};
    enum sf_err err;
    s->until_s = sf_clock_wall_ns() / SF_NS_PER_S + 1;
    snprintf(s->until, sizeof(s->until), "%" PRId64, s->until_s);
    err = find_slowest(s, &said);
    if (err) /* a busy machine */
        err = find_slowest(s, &said);
    if (err)
        demo_steps_note_failure(s, err, &said);
    else
        tell_one_order(s);
    STEP("Services, with request rate, latency and errors", "order-service", "services", "--since",
         "2m");
    if (!err)
        tell_its_span(s);
    STEP("Some prices take much longer: what do slow ones do that fast ones do not?",
         "applyLegacyTax", "compare", "--slow-vs-fast", "{ name = \"GET /price\" }", "--split",
         "p98");
    STEP("Some orders fail: which ones, and with which message?", "SUMMER-24", "search",
         "{ name = \"order.apply_coupon\" && status = error }", "--select",
         "statusMessage,span.order.coupon", "--limit", "5");
    if (!err)
        STEP("The whole trace as one flame graph, over all services, by critical path",
             "order-service", "flame", "--trace", s->trace, "--by", "critical-path");
    STEP("def456 was deployed half way: what did it change?", "evaluateRules", "diff", "--baseline",
         "order-service{commit=abc123}", "--comparison", "order-service{commit=def456}",
         "--time-range", "15m", "--measure", "share");
    STEP("Performance problems that it found, with suggested fixes", "regexMatch", "findings",
         "--service", "order-service");
    STEP(NULL, "order-service", "coverage", "order-service");
    if (s->err)
        *why = s->why;
    return s->err;
}
#undef STEP

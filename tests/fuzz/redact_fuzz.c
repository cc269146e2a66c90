/* redact_fuzz.c - any text in every place a redactor examines. The first byte chooses the
 * configuration, the rest is cut at line feeds into names, keys and values. What comes out must be
 * readable, counted and free of the two secrets that were planted; what went in must be as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "intake/redact.h"

enum { N_CONFIGS = 64, N_TEXTS = 8 };
static const char PLANTED[] = "hunter2hunter2";
static const char CLOUD_KEY[] = "AKIAIOSFODNN7EXAMPLE";

static const struct sf_redactor *redactor_of(unsigned choice)
{
    static const char *const OWN[] = {"internal", "/acct-[0-9]+/", "/(a|b)*c/", "password"};
    static const char *const ALLOW[] = {"page.token", "safe.*"};
    static struct sf_redactor *all[N_CONFIGS];
    struct sf_redact_config c = {.has_builtin = true,
                                 .is_substring = choice & 1,
                                 .in_keys = true,
                                 .in_values = true,
                                 .in_names = true,
                                 .patterns = OWN,
                                 .n_patterns = choice & 2 ? 4 : 0,
                                 .functions = (enum sf_redact_code)(choice >> 4),
                                 .files = (enum sf_redact_code)(choice >> 4 ^ 1),
                                 .allow = ALLOW,
                                 .n_allow = choice & 4 ? 2 : 0};
    struct sf_why why;
    if (choice & 8)
        c.hash_key = (sf_bytes){(const uint8_t *)"0123456789abcdef", 16};
    if (!all[choice] && sf_redactor_new(&c, &all[choice], &why))
        abort();
    return all[choice];
}

static bool holds(sf_str text, const char *secret)
{
    return text.len && memmem(text.p, text.len, secret, strlen(secret));
}

static uint64_t look_at(struct sf_attrs attrs)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < attrs.n; i++) {
        const struct sf_attr *a = &attrs.list[i];
        for (size_t k = 0; k < a->key.len; k++)
            sum += (uint8_t)a->key.p[k];
        for (size_t k = 0; a->val.type == SF_VALUE_STR && k < a->val.str.len; k++)
            sum += (uint8_t)a->val.str.p[k];
    }
    return sum;
}

struct seen {
    uint64_t n;
};

static void see(void *arg, const struct sf_redact_change *change)
{
    struct seen *seen = arg;
    SF_ASSERT(change->place[0] && change->rule[0]);
    seen->n++;
}

struct texts {
    sf_str at[N_TEXTS];
    size_t n;
};

static struct texts cut_lines(sf_str all)
{
    struct texts t = {0};
    size_t end;
    while (t.n + 1 < N_TEXTS && sf_str_find_char(all, '\n', &end)) {
        t.at[t.n++] = sf_str_part(all, 0, end);
        all = sf_str_from_at(all, end + 1);
    }
    t.at[t.n++] = all;
    return t;
}

static struct sf_attr text_attr(sf_str key, sf_str val)
{
    return (struct sf_attr){key, {.type = SF_VALUE_STR, .str = val}};
}

static void check(const struct sf_redactor *r, sf_str all, sf_str with_key, struct sf_arena *req)
{
    struct texts t = cut_lines(all);
    struct sf_attr attrs[] = {
        text_attr(SF_STR("password"), sf_str_from(PLANTED)), text_attr(SF_STR("note"), with_key),
        text_attr(t.at[0], t.at[1 % t.n]), text_attr(t.at[2 % t.n], t.at[3 % t.n])};
    struct sf_attr more = text_attr(t.at[4 % t.n], t.at[5 % t.n]);
    struct sf_resource res = {.attrs = {&more, 1}, .service = SF_STR("shop")};
    struct sf_scope scope = {.name = t.at[6 % t.n], .attrs = {&more, 1}};
    struct sf_event event = {.name = t.at[1 % t.n], .attrs = {&more, 1}};
    struct sf_link link = {.span_id = 3, .attrs = {&more, 1}};
    struct sf_span span = {.span_id = 2,
                           .name = t.at[0],
                           .status_msg = t.at[7 % t.n],
                           .trace_state = t.at[2 % t.n],
                           .attrs = {attrs, 4},
                           .events = &event,
                           .n_events = 1,
                           .links = &link,
                           .n_links = 1};
    struct sf_span_batch in = {.resources = &res,
                               .n_resources = 1,
                               .scopes = &scope,
                               .n_scopes = 1,
                               .spans = &span,
                               .n_spans = 1};
    struct sf_span_batch out = {0};
    struct seen seen = {0};
    struct sf_redact_watch watch = {see, &seen};
    uint64_t n = 0, sum = 0;

    if (sf_redact_spans(r, &in, req, &watch, &out, &n, NULL))
        abort();
    SF_ASSERT(n >= 2 && n == seen.n && out.n_spans == 1);
    SF_ASSERT(attrs[0].val.str.p == PLANTED); /* the view is new, the batch untouched */
    SF_ASSERT(out.spans[0].attrs.n == 4 && out.spans[0].n_events == 1 && out.spans[0].n_links == 1);
    SF_ASSERT(!holds(out.spans[0].attrs.list[0].val.str, PLANTED));
    /* Elsewhere the fuzzer may have put it inside a word, where it is none. */
    SF_ASSERT(!sf_str_ends(out.spans[0].attrs.list[1].val.str, sf_str_from(CLOUD_KEY)));
    sum += look_at(out.spans[0].attrs) + look_at(out.spans[0].events[0].attrs);
    sum += look_at(out.spans[0].links[0].attrs) + look_at(out.resources[0].attrs);
    sum += look_at(out.scopes[0].attrs) + out.spans[0].name.len + out.spans[0].status_msg.len;
    SF_ASSERT(sum != 1); /* so that all of it is examined */
}

/* The same texts as functions, files, labels and threads. */
static void check_profile(const struct sf_redactor *r, sf_str all, struct sf_arena *req)
{
    struct texts t = cut_lines(all);
    struct sf_function f = {t.at[0], t.at[1 % t.n], t.at[2 % t.n], 0};
    struct sf_mapping m = {.file = t.at[3 % t.n]};
    struct sf_label labels[] = {{SF_STR("password"), sf_str_from(PLANTED)},
                                {t.at[4 % t.n], t.at[5 % t.n]}};
    struct sf_series s = {.service = t.at[6 % t.n], .labels = labels, .n_labels = 2};
    struct sf_process process = {.service = t.at[6 % t.n], .key = t.at[7 % t.n]};
    struct sf_sample sample = {.thread_name = t.at[0]};
    struct sf_profile_batch b = {.mappings = &m,
                                 .functions = &f,
                                 .processes = &process,
                                 .series = &s,
                                 .samples = &sample,
                                 .n_mappings = 1,
                                 .n_functions = 1,
                                 .n_processes = 1,
                                 .n_series = 1,
                                 .n_samples = 1};
    struct seen seen = {0};
    struct sf_redact_watch watch = {see, &seen};
    uint64_t n = 0;
    if (sf_redact_profiles(r, &b, req, &watch, &n, NULL))
        abort();
    SF_ASSERT(n >= 1 && n == seen.n && s.labels == labels && f.name.p == t.at[0].p);
    for (uint32_t i = 0; i < b.series[0].n_labels; i++) {
        if (sf_str_eq(b.series[0].labels[i].key, SF_STR("password")))
            SF_ASSERT(!holds(b.series[0].labels[i].val, PLANTED));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len = size > 1 ? size - 1 : 0, key_len = sizeof(CLOUD_KEY) - 1;
    char *text = malloc(len ? len : 1), *with_key = malloc(len + key_len + 1);
    struct sf_arena req;

    if (!text || !with_key || !sf_arena_init(&req, 4 << 20))
        abort();
    if (len)
        memcpy(text, data + 1, len);
    memcpy(with_key, text, len);
    with_key[len] = '\n';
    memcpy(with_key + len + 1, CLOUD_KEY, key_len);
    check(redactor_of(size ? data[0] % N_CONFIGS : 0), (sf_str){text, len},
          (sf_str){with_key, len + 1 + key_len}, &req);
    check_profile(redactor_of(size ? data[0] % N_CONFIGS : 0), (sf_str){text, len}, &req);
    sf_arena_done(&req);
    free(with_key);
    free(text);
    return 0;
}

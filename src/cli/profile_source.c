/* profile_source.c - where `flame`, `top`, `diff` and `export` get a profile from: a file, standard
 * input, a pprof URL (with a countdown while the target records) or a selector, which the server
 * resolves. In all cases the result is a decoded batch, of which one type becomes a tree. */
#include "cli/profile_source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/setting.h"
#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/ask.h"
#include "decode/profile_format.h"
#include "flame/tree_filter.h"
#include "flame/tree_group.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "os/text_file.h"
#include "os/thread.h"
#include "wire/time_text.h"

enum { MAX_SECONDS = 3600, WAIT_MORE_S = 30 };
#define MAX_FILE_LEN ((size_t)1 << 30)
#define ARENA_LEN    ((size_t)8 << 30) /* reserved address space, not memory in use */

/* ---- a URL, with a countdown ---- */

unsigned sf_profile_source_url_seconds(sf_str url)
{
    uint64_t n = 0;
    size_t at;
    sf_str rest;
    if (!sf_str_find(url, SF_STR("?seconds="), &at) && !sf_str_find(url, SF_STR("&seconds="), &at))
        return 0;
    rest = sf_str_from_at(url, at + 9);
    for (size_t i = 0; i < rest.len && rest.p[i] >= '0' && rest.p[i] <= '9' && n <= MAX_SECONDS;
         i++)
        n = n * 10 + (uint64_t)(rest.p[i] - '0');
    return n > MAX_SECONDS ? MAX_SECONDS : (unsigned)n;
}

struct countdown {
    struct sf_thread thread;
    struct sf_mutex lock; /* guards is_over; held while the line is written */
    struct sf_condvar woken;
    bool is_over;
    int64_t end_ns;
    const char *host;
};

static void count_down(void *arg)
{
    struct countdown *c = arg;
    sf_mutex_lock(&c->lock);
    while (!c->is_over) {
        int64_t now_ns = sf_clock_mono_ns(),
                left = (c->end_ns - now_ns + SF_NS_PER_S - 1) / SF_NS_PER_S;
        if (left > 0)
            fprintf(stderr, "\r%s: profiling, %lld s left \033[K", c->host, (long long)left);
        else
            fprintf(stderr, "\r%s: waiting for the profile \033[K", c->host);
        fflush(stderr);
        sf_condvar_wait_until(&c->woken, &c->lock, now_ns + SF_NS_PER_S);
    }
    sf_mutex_unlock(&c->lock);
    fprintf(stderr, "\r\033[K");
}

static void start_countdown(struct countdown *c, const char *host, unsigned seconds)
{
    sf_mutex_init(&c->lock, SF_LOCK_APART);
    sf_condvar_init(&c->woken);
    c->host = host;
    c->end_ns = sf_clock_mono_ns() + seconds * SF_NS_PER_S;
    if (seconds && sf_terminal_is(STDERR_FILENO)) /* a missing countdown does not matter */
        sf_thread_start(&c->thread, "countdown", 0, count_down, c, NULL);
}

static void end_countdown(struct countdown *c)
{
    sf_mutex_lock(&c->lock);
    c->is_over = true;
    sf_condvar_wake_all(&c->woken);
    sf_mutex_unlock(&c->lock);
    sf_thread_join(&c->thread);
    sf_condvar_done(&c->woken);
    sf_mutex_done(&c->lock);
}

static enum sf_err profile_source_fetch(const char *url, struct sf_buf *out, struct sf_why *why)
{
    struct sf_client client = {.is_foreign = true};
    struct countdown c = {0};
    const char *path = strchr(strstr(url, "://") + 3, '/');
    unsigned seconds = sf_profile_source_url_seconds(sf_str_from(url));
    char host[300];
    enum sf_err err;
    snprintf(host, sizeof(host), "%.*s", path ? (int)(path - url) : 290, url);
    client.server = host;
    client.timeout_ns = (seconds + WAIT_MORE_S) * SF_NS_PER_S;
    start_countdown(&c, host, seconds);
    err = sf_client_get(&client, path ? path : "/", NULL, out, why);
    end_countdown(&c);
    return err;
}

static bool is_url(const char *word)
{
    return strncmp(word, "http://", 7) == 0 || strncmp(word, "https://", 8) == 0;
}

enum sf_err sf_profile_source_bytes(const char *word, struct sf_buf *out, struct sf_why *why)
{
    return is_url(word) ? profile_source_fetch(word, out, why)
                        : sf_text_file_read(word, MAX_FILE_LEN, out, why);
}

/* ---- a selector ---- */

static bool is_selector(const char *word)
{
    return strchr(word, '{') || !strpbrk(word, "./");
}

bool sf_profile_source_time_range(const char *text, int64_t now_ns, int64_t *out_from_ns,
                                  int64_t *out_until_ns)
{
    sf_str all = sf_str_from(text ? text : "1h");
    int64_t from_ns, until_ns = now_ns, length_ns;
    size_t dots;
    if (sf_str_find(all, SF_STR(".."), &dots)) {
        if (!sf_time_text_parse(sf_str_part(all, 0, dots), now_ns, &from_ns) ||
            !sf_time_text_parse(sf_str_from_at(all, dots + 2), now_ns, &until_ns))
            return false;
    } else {
        if (sf_setting_duration_parse(all, SF_DURATION_PLAIN, &length_ns, NULL) || length_ns <= 0)
            return false;
        from_ns = now_ns > length_ns ? now_ns - length_ns : 0;
    }
    if (from_ns < 0 || from_ns >= until_ns)
        return false;
    *out_from_ns = from_ns;
    *out_until_ns = until_ns;
    return true;
}

enum sf_err sf_profile_source_bad_range(const char *text, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_INPUT,
                   "--time-range %.60s: use 1h, or FROM..UNTIL with unix seconds, RFC 3339, now or "
                   "now-15m",
                   text);
}

static enum sf_err profile_source_get(struct sf_profile_source *s, const struct sf_client *client,
                                      const char *path, struct sf_why *why)
{
    struct sf_client_answer answer = {0};
    enum sf_err err = sf_client_ask(client, path, "*/*", &answer, why);
    if (answer.note[0])
        sf_answer_note_once(answer.note);
    s->bytes = answer.body;
    s->n_samples = answer.n_samples;
    s->view.is_estimate = answer.is_estimate;
    s->view.is_few = answer.n_few > 0;
    s->view.taken = (double)answer.n_few;
    return err;
}

static enum sf_err profile_source_ask(struct sf_profile_source *s, const char *selector,
                                      const struct sf_profile_flags *flags, bool has_ids,
                                      struct sf_why *why)
{
    struct sf_buf path = {0};
    int64_t from_ns, until_ns;
    enum sf_err err;
    if (!sf_profile_source_time_range(flags->range, sf_clock_wall_ns(), &from_ns, &until_ns))
        return sf_profile_source_bad_range(flags->range, why);
    sf_buf_print(&path, "/api/v1/profile?format=pprof&from=%lld&until=%lld", (long long)from_ns,
                 (long long)until_ns);
    sf_ask_param(&path, "selector", selector);
    sf_ask_param(&path, "type", flags->type);
    sf_ask_param(&path, "ids", has_ids ? "true" : NULL);
    sf_buf_add_u8(&path, 0);
    err = sf_buf_ok(&path) ? profile_source_get(s, &flags->client, (char *)path.p, why)
                           : sf_fail(why, SF_ERR_NOMEM, "no memory");
    sf_buf_done(&path);
    return err;
}

/* ---- decoding ---- */

static enum sf_err profile_source_read_bytes(struct sf_profile_source *s, const char *command,
                                             const char *word, const struct sf_profile_flags *flags,
                                             sf_str *out, struct sf_why *why)
{
    struct sf_inflate *z;
    char said[240];
    enum sf_err err = flags->is_path ? profile_source_get(s, &flags->client, word, why)
                                     : sf_profile_source_bytes(word, &s->bytes, why);
    if (err == SF_ERR_NOT_FOUND && !flags->is_path && !is_url(word) && is_selector(word)) {
        err = profile_source_ask(s, word, flags, flags->has_ids, why);
        if (flags->has_ids && err == SF_ERR_LIMIT) {
            snprintf(said, sizeof(said), "ids of samples are left out: %.160s", why->text);
            sf_answer_note(command, said);
            sf_buf_done(&s->bytes);
            err = profile_source_ask(s, word, flags, false, why);
        }
        s->is_asked = true;
    }
    if (err)
        return err;
    z = sf_inflate_new();
    if (!z)
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    err = sf_profile_format_unwrap(z, sf_buf_str(&s->bytes), MAX_FILE_LEN, &s->inflated, out, why);
    sf_inflate_free(z);
    return err;
}

static void note_drops(const char *command, const struct sf_profile_drops *d)
{
    char words[360];
    if (d->n_samples || d->n_parts) {
        snprintf(words, sizeof(words), "%llu samples and %llu parts could not be read: %s",
                 (unsigned long long)d->n_samples, (unsigned long long)d->n_parts, d->first);
        sf_answer_note(command, words);
    }
    if (d->n_cut_stacks) {
        snprintf(words, sizeof(words), "%llu stacks were too deep and are cut",
                 (unsigned long long)d->n_cut_stacks);
        sf_answer_note(command, words);
    }
}

static void note_types(const char *command, const struct sf_batch_type *types, uint32_t n,
                       uint32_t chosen)
{
    struct sf_buf words = {0};
    if (n < 2)
        return;
    sf_buf_print(&words,
                 "this is %.*s; --type shows another:", SF_STR_ARG(types[chosen].type.sample_type));
    for (uint32_t i = 0; i < n; i++) {
        if (i != chosen)
            sf_buf_print(&words, " %.*s", SF_STR_ARG(types[i].type.sample_type));
    }
    sf_buf_add_u8(&words, 0);
    if (sf_buf_ok(&words))
        sf_answer_note(command, (char *)words.p);
    sf_buf_done(&words);
}

static sf_str profile_source_name_of(const char *word)
{
    const char *slash = is_url(word) || strchr(word, '{') ? NULL : strrchr(word, '/');
    return strcmp(word, "-") == 0 ? SF_STR("standard input")
                                  : sf_str_from(slash && slash[1] ? slash + 1 : word);
}

static enum sf_err make_view(struct sf_profile_source *s, const struct sf_profile_batch *batch,
                             const struct sf_batch_type *type, const struct sf_profile_flags *flags,
                             struct sf_why *why)
{
    const struct sf_tree_filter filter = {sf_str_from(flags->focus), sf_str_from(flags->ignore),
                                          sf_str_from(flags->hide), sf_str_from(flags->from)};
    struct sf_tree whole;
    enum sf_err err = sf_batch_tree_owned(batch, &type->type, &s->req, &whole, &s->owned, why);
    s->view.is_estimate |= batch->is_estimate;
    s->view.type = type->type;
    s->view.time_ns = type->time_ns;
    s->view.duration_ns = type->duration_ns;
    s->view.period = type->period;
    s->view.tree = whole;
    if (!err && (filter.focus.len || filter.ignore.len || filter.hide.len || filter.from.len)) {
        err = sf_tree_filter(&whole, &filter, &s->owned, &s->req, &s->view.tree, why);
    } else if (s->n_samples)
        s->view.tree.n_samples = s->n_samples;
    s->view.owned = s->owned.list;
    s->view.n_owned = s->owned.n;
    return err;
}

enum sf_err sf_profile_source_open(const char *command, const char *word,
                                   const struct sf_profile_flags *flags,
                                   struct sf_profile_source *out, struct sf_why *why)
{
    struct sf_profile_hint hint = {.service = flags->is_path ? SF_STR("the server")
                                                             : profile_source_name_of(word),
                                   .now_ns = sf_clock_wall_ns()};
    struct sf_profile_batch batch;
    const struct sf_batch_type *types = NULL;
    uint32_t n = 0, chosen = 0;
    sf_str plain = SF_STR_NONE;
    enum sf_err err;
    *out = (struct sf_profile_source){0};
    if (!sf_arena_init(&out->req, ARENA_LEN))
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    err = profile_source_read_bytes(out, command, word, flags, &plain, why);
    if (err)
        return err;
    hint.format = sf_str_from(flags->input);
    out->format = flags->input ? flags->input : sf_profile_format_find(plain);
    out->view.service = hint.service;
    err = sf_profile_format_decode(plain, &hint, &out->req, &batch, why);
    if (!err)
        err = sf_batch_tree_types(&batch, &out->req, &types, &n, why);
    if (!err && n == 0)
        err = flags->is_path ? sf_fail(why, SF_ERR_NOT_FOUND, "the selection has no samples")
                             : sf_fail(why, SF_ERR_NOT_FOUND, "%s has no samples", word);
    if (!err)
        err = sf_batch_tree_choose(types, n, /* the server's answer has only one type */
                                   out->is_asked ? SF_STR_NONE : sf_str_from(flags->type), &chosen,
                                   why);
    if (!err)
        err = make_view(out, &batch, &types[chosen], flags, why);
    if (err)
        return err;
    note_drops(command, &batch.drops);
    if (!flags->type)
        note_types(command, types, n, chosen);
    return SF_OK;
}

void sf_profile_source_done(struct sf_profile_source *s)
{
    sf_arena_done(&s->req);
    sf_buf_done(&s->bytes);
    sf_buf_done(&s->inflated);
}

enum sf_err sf_profile_source_grouped(struct sf_profile_source *s,
                                      const struct sf_profile_flags *flags,
                                      struct sf_profile_view *out, struct sf_why *why)
{
    static const char *const names[] = {"function", "line", "file", "package", "module"};
    struct sf_tree_grouping how = {.by = SF_GROUP_FUNCTION};
    enum sf_err err;
    size_t i = 0;
    while (flags->group && i < 5 && strcmp(flags->group, names[i]) != 0)
        i++;
    if (i == 5)
        return sf_fail(why, SF_ERR_INPUT,
                       "--group-by %.40s: use function, line, file, package or module",
                       flags->group);
    how.by = (enum sf_frame_group)i;
    *out = s->view;
    err = sf_tree_group_owned(&s->view.tree, how, &s->owned, &s->req, &out->tree, why);
    out->owned = s->owned.list;
    out->n_owned = s->owned.n;
    s->view.n_owned = 0; /* moved to `out` */
    return err;
}

int sf_profile_source_show(const char *command, const char *const *words,
                           const struct sf_profile_flags *flags, size_t n, sf_profile_show_fn *show,
                           void *arg)
{
    struct sf_profile_source sources[2] = {0};
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < n; i++)
        err = sf_profile_source_open(command, words[i], &flags[i], &sources[i], &why);
    if (!err)
        err = show(arg, sources, &out, &why);
    for (size_t i = 0; i < n; i++)
        sf_profile_source_done(&sources[i]);
    return sf_answer_end(command, err, &out, &why);
}

bool sf_profile_source_rows_check(const char *command, uint64_t limit, const char *min,
                                  double *out_share)
{
    if (min && !sf_profile_source_share(min, out_share)) {
        sf_answer_usage(command, "--min is a percentage from 0 to 100");
        return false;
    }
    if (limit == 0 || limit > 1000000) {
        sf_answer_usage(command, "--limit is a number from 1 to 1000000");
        return false;
    }
    return true;
}

bool sf_profile_source_share(const char *text, double *out)
{
    sf_str number = sf_str_from(text);
    double percent;
    if (number.len && number.p[number.len - 1] == '%')
        number.len--;
    if (!sf_str_to_f64(number, &percent) || !(percent >= 0 && percent <= 100))
        return false;
    *out = percent / 100;
    return true;
}

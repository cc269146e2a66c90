#include "cli/demo_bar.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/time_unit.h"
#include "cli/client.h"
#include "os/clock.h"
#include "wire/json.h"
#include "wire/json_write.h"

#define SERVICE "/settings.v1.SettingsService/"
static const char state_name[] = "spanflame.demo", wish_name[] = "spanflame.demo.wish";
static const char good_commit[] = "abc123", bad_commit[] = "def456";

/* How often requests of the page are polled, how often the state is published without changes, and
 * how long one call may take: a busy server must not stop the demo. */
static const int64_t ASK_NS = 500 * SF_NS_PER_MS, TELL_NS = 5 * SF_NS_PER_S,
                     CALL_NS = 5 * SF_NS_PER_S;
enum { WISH_ARENA = 1 << 20 };

static struct sf_client demo_bar_client_of(const struct sf_demo_bar *b)
{
    return (struct sf_client){.server = b->server, .timeout_ns = CALL_NS};
}

/* ---- publishing the state ---- */

static void write_problem(struct sf_json_writer *w, const struct sf_demo_problem *p, bool is_off)
{
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("name"), sf_str_from(p->name));
    sf_json_write_key_str(w, SF_STR("what"), sf_str_from(p->what));
    sf_json_write_key_str(w, SF_STR("cost"), sf_str_from(p->cost));
    sf_json_write_key_str(w, SF_STR("service"), sf_str_from(p->service));
    sf_json_write_key_str(w, SF_STR("cause"), sf_str_from(p->finding ? p->finding : p->subject));
    sf_json_write_key(w, SF_STR("on"));
    sf_json_write_bool(w, !is_off);
    sf_json_write_object_end(w);
}

static void demo_bar_write_state(const struct sf_demo_bar *b, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("commit"), sf_str_from(b->shop->commit));
    sf_json_write_key(&w, SF_STR("startedAt"));
    sf_json_write_i64(&w, b->started_ms);
    sf_json_write_key_str(&w, SF_STR("doing"), sf_str_from(b->doing));
    sf_json_write_key_str(&w, SF_STR("refused"), sf_str_from(b->refused));
    sf_json_write_key_str(&w, SF_STR("switched"), sf_str_from(b->switched));
    sf_json_write_key(&w, SF_STR("worse"));
    sf_json_write_bool(&w, b->is_worse);
    sf_json_write_key(&w, SF_STR("switchedAt"));
    sf_json_write_i64(&w, b->switched_ms);
    sf_json_write_key(&w, SF_STR("wishAt"));
    sf_json_write_i64(&w, b->wish_ms);
    sf_json_write_key(&w, SF_STR("problems"));
    sf_json_write_array(&w);
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++)
        write_problem(&w, &sf_demo_problems[i], b->switches->is_off[i]);
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}

static enum sf_err demo_bar_put(const struct sf_demo_bar *b, sf_str value, struct sf_why *why)
{
    struct sf_client client = demo_bar_client_of(b);
    struct sf_buf body = {0}, answer = {0};
    struct sf_json_writer w = sf_json_writer_init(&body);
    enum sf_err err;
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("setting"));
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("name"), sf_str_from(state_name));
    sf_json_write_key_str(&w, SF_STR("value"), value);
    sf_json_write_object_end(&w);
    sf_json_write_object_end(&w);
    err = sf_buf_ok(&body)
              ? sf_client_connect(&client, SERVICE "Set", sf_buf_str(&body), &answer, why)
              : sf_no_memory(why, "the demo bar");
    sf_buf_done(&body);
    sf_buf_done(&answer);
    return err;
}

/* The bar is optional: an error of it is printed once and does not end the demo. */
static void demo_bar_note(struct sf_demo_bar *b, enum sf_err err, const struct sf_why *why)
{
    if (err && !b->why.text[0])
        fprintf(stderr, "spanflame demo: the demo bar of the page does not work yet: %s\n",
                why->text);
    if (err)
        b->why = *why;
    else
        b->why.text[0] = '\0';
}

void sf_demo_bar_tell(struct sf_demo_bar *b, const char *doing)
{
    struct sf_why why = {0};
    struct sf_buf value = {0};
    enum sf_err err;
    b->doing = doing;
    demo_bar_write_state(b, &value);
    err = sf_buf_ok(&value) ? demo_bar_put(b, sf_buf_str(&value), &why)
                            : sf_no_memory(&why, "its state");
    sf_buf_done(&value);
    b->told_ns = sf_clock_mono_ns();
    demo_bar_note(b, err, &why);
}

/* ---- requests of the page ---- */

struct wish {
    sf_str text;
    int64_t ms;
    sf_str commit;
    bool is_off[SF_DEMO_PROBLEMS];
    bool has_off;
};

static void demo_bar_read_one(struct sf_json *j, struct wish *out)
{
    sf_str key, name = SF_STR_NONE, value = SF_STR_NONE;
    int64_t ms = 0;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name")))
            name = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("value")))
            value = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("modifiedAt")))
            ms = sf_json_i64(j);
        else
            sf_json_skip(j);
    }
    if (sf_str_eq(name, sf_str_from(wish_name))) {
        out->text = value;
        out->ms = ms;
    }
}

/* False: there is no request. */
static bool find_wish(sf_str answer, struct sf_arena *req, struct wish *out)
{
    struct sf_json j;
    sf_str key;
    sf_json_init(&j, answer, req);
    for (bool is_open = sf_json_object(&j); is_open && sf_json_key(&j, &key);) {
        if (!sf_str_eq(key, SF_STR("settings")) || !sf_json_array(&j)) {
            sf_json_skip(&j);
            continue;
        }
        while (sf_json_item(&j) && sf_json_object(&j))
            demo_bar_read_one(&j, out);
    }
    return sf_json_ok(&j) && out->text.len > 0;
}

static enum sf_err read_off(struct sf_json *j, struct wish *out, struct sf_why *why)
{
    size_t at;
    out->has_off = true;
    while (sf_json_item(j)) {
        sf_str name = sf_json_str(j);
        if (!sf_demo_switch_problem_find(name, &at))
            return sf_fail(why, SF_ERR_INPUT, "there is no problem \"%.*s\"",
                           SF_STR_ARG(sf_str_part(name, 0, 40)));
        out->is_off[at] = true;
    }
    return SF_OK;
}

static enum sf_err read_wish(struct wish *w, struct sf_arena *req, struct sf_why *why)
{
    struct sf_json j;
    sf_str key;
    enum sf_err err = SF_OK;
    sf_json_init(&j, w->text, req);
    if (!sf_json_object(&j))
        return sf_fail(why, SF_ERR_INPUT, "the request must be a JSON object");
    while (!err && sf_json_key(&j, &key)) {
        if (sf_str_eq(key, SF_STR("commit")))
            w->commit = sf_json_str(&j);
        else if (sf_str_eq(key, SF_STR("off")) && sf_json_array(&j))
            err = read_off(&j, w, why);
        else
            err = sf_fail(why, SF_ERR_INPUT,
                          "the request has the keys commit and off, not \"%.*s\"",
                          SF_STR_ARG(sf_str_part(key, 0, 40)));
    }
    if (!err && !sf_json_ok(&j))
        err = sf_json_why(&j, "the wish", why);
    if (!err && w->commit.len && !sf_str_eq(w->commit, sf_str_from(good_commit)) &&
        !sf_str_eq(w->commit, sf_str_from(bad_commit)))
        err = sf_fail(why, SF_ERR_INPUT, "there is no commit \"%.*s\"",
                      SF_STR_ARG(sf_str_part(w->commit, 0, 40)));
    return err;
}

static void note_switch(struct sf_demo_bar *b, const char *what, bool is_worse)
{
    snprintf(b->switched, sizeof(b->switched), "%s", what);
    b->is_worse = is_worse;
    b->switched_ms = sf_clock_wall_ns() / SF_NS_PER_MS;
}

enum sf_err sf_demo_bar_deploy(struct sf_demo_bar *b, const char *commit, struct sf_why *why)
{
    bool is_bad = strcmp(commit, bad_commit) == 0;
    enum sf_err err;
    sf_demo_bar_tell(b, is_bad ? "deploying def456" : "rolling back to abc123");
    err = sf_demo_shop_deploy(b->shop, commit, why);
    note_switch(b, commit, is_bad);
    return err;
}

static enum sf_err do_wish(struct sf_demo_bar *b, const struct wish *w, struct sf_why *why)
{
    for (size_t i = 0; w->has_off && i < SF_DEMO_PROBLEMS; i++) {
        enum sf_err err;
        if (w->is_off[i] == b->switches->is_off[i])
            continue;
        err = sf_demo_switches_set(b->switches, i, w->is_off[i], why);
        if (err)
            return err;
        note_switch(b, sf_demo_problems[i].name, !w->is_off[i]);
    }
    if (!w->commit.len || sf_str_eq(w->commit, sf_str_from(b->shop->commit)))
        return SF_OK;
    return sf_demo_bar_deploy(
        b, sf_str_eq(w->commit, sf_str_from(bad_commit)) ? bad_commit : good_commit, why);
}

enum sf_err sf_demo_bar_turn(struct sf_demo_bar *b, struct sf_why *why)
{
    struct sf_client client = demo_bar_client_of(b);
    struct sf_buf answer = {0};
    struct sf_arena req = {0};
    struct wish wish = {0};
    struct sf_why said = {0};
    const char *doing = b->doing;
    int64_t now_ns = sf_clock_mono_ns();
    enum sf_err err = SF_OK;
    if (now_ns - b->asked_ns < ASK_NS)
        return SF_OK;
    b->asked_ns = now_ns;
    enum sf_err asked = sf_client_connect(&client, SERVICE "Get", SF_STR("{}"), &answer, &said);
    demo_bar_note(b, asked, &said);
    if (!asked && sf_arena_init(&req, WISH_ARENA) && find_wish(sf_buf_str(&answer), &req, &wish) &&
        wish.ms != b->wish_ms) {
        b->refused[0] = '\0';
        if (read_wish(&wish, &req, &said))
            snprintf(b->refused, sizeof(b->refused), "%.*s", (int)sizeof(b->refused) - 1,
                     said.text);
        else
            err = do_wish(b, &wish, why);
        b->wish_ms = wish.ms; /* stored after the change is done; until then the bar shows that a
                               * deploy is running */
        sf_demo_bar_tell(b, doing);
    } else if (now_ns - b->told_ns > TELL_NS) {
        sf_demo_bar_tell(b, doing);
    }
    sf_arena_done(&req);
    sf_buf_done(&answer);
    return err;
}

static void take_away(const struct sf_demo_bar *b, const char *name)
{
    struct sf_client client = demo_bar_client_of(b);
    struct sf_buf body = {0}, answer = {0};
    sf_buf_print(&body, "{\"name\":\"%s\"}", name);
    if (sf_buf_ok(&body))
        (void)sf_client_connect(&client, SERVICE "Delete", sf_buf_str(&body), &answer, NULL);
    sf_buf_done(&body);
    sf_buf_done(&answer);
}

void sf_demo_bar_close(struct sf_demo_bar *b)
{
    if (!b->told_ns)
        return;
    take_away(b, wish_name);
    take_away(b, state_name);
}

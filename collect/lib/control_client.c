#include "collect/lib/control_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "collect/lib/control_order.h"
#include "collect/lib/control_pause.h"
#include "collect/lib/governor.h"
#include "collect/lib/library.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/profile_upload.h"
#include "collect/lib/profiler.h"
#include "collect/lib/selection.h"
#include "collect/lib/settings.h"
#include "collect/send/http_post.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"

#define WAIT_NS  (30 * SF_NS_PER_S)
#define GRACE_NS (15 * SF_NS_PER_S) /* time for the answer after the wait of the server */
#define FLUSH_NS (10 * SF_NS_PER_S)
enum { PATIENT_TRIES = 8 }; /* of a second each, until the settings of a capture are in effect */

static struct {
    struct sf_lock lock; /* guards is_running; held while the thread starts */
    bool is_running;
    atomic_bool is_ending;
    struct sf_notifier bell;
    const struct sf_settings *settings;
    char instance[130];
    /* The fields below are used by the thread only. */
    struct sf_http_post http;
    struct sf_control_order doc;
    char done[SF_CONTROL_VERSION_CAP]; /* id of the last capture that was taken */
    int64_t done_from_ns, done_until_ns;
    bool is_done_told;
    int64_t capture_end_ns; /* monotonic; 0: no capture is running */
    unsigned started;       /* kinds started for the capture */
    struct sf_own_cost_window cost_window;
    uint32_t cost; /* millionths of the process's CPU time */
    struct sf_control_pause pause;
} c;

/* ---- the query ---- */

static void control_client_add_param(struct sf_buf *b, const char *name, const char *val)
{
    sf_buf_print(b, "&%s=", name);
    for (; *val; val++) {
        bool is_plain = (*val >= 'a' && *val <= 'z') || (*val >= 'A' && *val <= 'Z') ||
                        (*val >= '0' && *val <= '9') || *val == '-' || *val == '.' || *val == '_';
        sf_buf_print(b, is_plain ? "%c" : "%%%02x", (unsigned char)*val);
    }
}

/* "/base/v1development/profiles" to "/base/api/v1/control"; any other path has no base. */
static void control_client_add_path(struct sf_buf *b)
{
    static const char tail[] = "/v1development/profiles";
    const struct sf_exporter_settings *x = &c.settings->profile_exporter;
    sf_str path = sf_str_from(x->to.path), base = SF_STR_NONE;
    if (!x->is_grpc && path.len >= sizeof(tail) - 1 &&
        sf_str_eq(sf_str_from_at(path, path.len - (sizeof(tail) - 1)), sf_str_from(tail)))
        base = sf_str_part(path, 0, path.len - (sizeof(tail) - 1));
    sf_buf_print(b, "%.*s/api/v1/control?format=text", SF_STR_ARG(base));
}

static void measure_cost(void)
{
    struct sf_own_cost_reading now = {sf_clock_mono_ns(), sf_own_cost_ns(),
                                      sf_clock_process_cpu_ns()};
    c.cost = sf_own_cost_share(&c.cost_window, &now);
}

static void write_question(struct sf_buf *b, int64_t wait_ns)
{
    uint64_t times, ns;
    char host[65] = "", problem[161] = "";
    bool is_paused = sf_profiler_paused(&times, &ns);
    measure_cost();
    gethostname(host, sizeof(host) - 1);
    sf_library_problem(problem, sizeof(problem));
    sf_buf_reset(b);
    control_client_add_path(b);
    control_client_add_param(b, "service", c.settings->service);
    control_client_add_param(b, "instance", c.instance);
    sf_buf_print(b, "&wait=%" PRId64 "ms", wait_ns / SF_NS_PER_MS);
    sf_buf_print(b, "&rate=%" PRIu64 "&paused=%s&cost=%u&pid=%d", sf_governor_rate(),
                 is_paused ? "true" : "false", c.cost, (int)getpid());
    control_client_add_param(b, "host", host);
    control_client_add_param(b, "agent", "spanflame-c/" SPANFLAME_VERSION);
    if (problem[0])
        control_client_add_param(b, "problem", problem);
    if (c.done[0] && !c.is_done_told)
        sf_buf_print(b, "&capture=%s&from=%" PRId64 "&until=%" PRId64, c.done, c.done_from_ns,
                     c.done_until_ns);
    sf_buf_add_u8(b, 0);
}

/* ---- applying the settings ---- */

/* Applies the configured conditions, overridden by the server's. */
static void obey_conditions(void)
{
    struct sf_profiling block = c.settings->profiling.block;
    for (size_t i = 0; i < sf_profiling_n_keys && i < 64; i++) {
        const struct sf_profiling_key *key = &sf_profiling_keys[i];
        size_t len = key->kind == SF_SETTING_BOOL      ? sizeof(bool)
                     : key->kind == SF_SETTING_PERCENT ? sizeof(uint32_t)
                                                       : sizeof(uint64_t);
        if (c.doc.has_conditions >> i & 1)
            memcpy((uint8_t *)&block + key->offset,
                   (const uint8_t *)&c.doc.conditions + key->offset, len);
    }
    sf_selection_init(&block);
}

static void obey(void)
{
    struct sf_governor_wish w = {.is_off = c.doc.is_off,
                                 .cpu_hz = c.doc.cpu_hz,
                                 .wall_hz = c.doc.wall_hz,
                                 .has_budget = c.doc.has_budget,
                                 .budget_per_10000 = c.doc.budget_per_10000};
    int64_t left_ms;
    if (c.doc.rates_until_ms) {
        /* Limits the effect of wrong clocks: rates are raised for at most an hour. */
        left_ms = c.doc.rates_until_ms - sf_clock_unix_ns() / SF_NS_PER_MS;
        left_ms = left_ms < 0 ? 0 : left_ms > 3600000 ? 3600000 : left_ms;
        w.rates_until_ns = sf_clock_mono_ns() + left_ms * SF_NS_PER_MS + 1;
    }
    if (c.capture_end_ns) {
        w.capture_kinds = c.doc.capture_kinds;
        w.capture_hz = c.doc.capture_hz;
    }
    obey_conditions();
    sf_governor_wish_set(&w);
}

static void control_client_begin_capture(void)
{
    unsigned missing = c.doc.capture_kinds & ~sf_profiler_on_for(SF_FOR_SERVER);
    struct sf_why why = {0};
    c.started = 0;
    if (missing && !sf_profile_upload_start(missing, &why))
        c.started = missing;
    else if (missing)
        sf_profile_upload_exporter()->say(why.text);
    c.capture_end_ns = INT64_MAX;
    c.done_from_ns = sf_clock_unix_ns(); /* a new window begins with the change */
    obey();
    /* On an overloaded host the collecting thread may be busy for seconds: its time does not count.
     */
    for (int i = 0; i < PATIENT_TRIES && !sf_governor_is_settled() && !atomic_load(&c.is_ending);
         i++)
        obey();
    c.capture_end_ns = sf_clock_mono_ns() + (int64_t)c.doc.capture_s * SF_NS_PER_S;
}

/* Ends the capture; its samples are sent before its end is reported. */
static void end_capture(void)
{
    c.capture_end_ns = 0;
    obey(); /* this ends its window */
    c.done_until_ns = sf_clock_unix_ns();
    if (c.started)
        sf_profile_upload_stop(c.started);
    c.started = 0;
    sf_profile_upload_flush(FLUSH_NS, false);
    memcpy(c.done, c.doc.capture, sizeof(c.done));
    c.is_done_told = false;
}

/* False: the answer is not understood. */
static bool control_client_take(const struct sf_answer *a)
{
    struct sf_control_order d;
    bool is_other;
    if (!sf_control_order_parse((sf_str){(const char *)a->body, a->body_len}, &d)) {
        sf_profile_upload_exporter()->say("control: the server's response cannot be parsed");
        return false;
    }
    is_other = strcmp(d.capture, c.doc.capture) != 0;
    if (c.capture_end_ns && is_other) { /* the capture was cancelled: the samples so far are sent */
        end_capture();
    }
    c.doc = d;
    if (c.doc.capture[0] && !c.capture_end_ns && strcmp(c.doc.capture, c.done) != 0)
        control_client_begin_capture();
    else
        obey();
    return true;
}

/* ---- the thread ---- */

/* How long to wait before the next poll. */
static int64_t pause_after(enum sf_err err, const struct sf_answer *a, bool is_understood,
                           int64_t took_ns)
{
    struct sf_control_heard h = {.status = err ? 0 : (unsigned)a->status,
                                 .is_understood = is_understood,
                                 .took_ns = took_ns,
                                 .retry_after_s = err ? 0 : (int64_t)a->retry_after_s,
                                 .is_capturing = c.capture_end_ns != 0};
    uint64_t chance;
    sf_clock_random_fill(&chance, sizeof(chance));
    if (h.status == 200 || h.status == 304)
        c.is_done_told = true;
    return sf_control_pause(&c.pause, &h, sf_clock_mono_ns(), chance);
}

static void sleep_for(int64_t ns)
{
    int64_t end_ns = sf_clock_mono_ns() + ns, left_ns;
    while (!atomic_load(&c.is_ending) && (left_ns = end_ns - sf_clock_mono_ns()) > 0) {
        unsigned heard = sf_notifier_seen(&c.bell);
        sf_notifier_wait(&c.bell, heard, left_ns);
    }
}

static void control_client_run(void *arg)
{
    static struct sf_answer a; /* used by one thread; too large for its stack */
    struct sf_buf path = {.max = 16384};
    (void)arg;
    sf_http_post_init(&c.http, &c.settings->profile_exporter.to,
                      c.settings->profile_exporter.headers);
    while (!atomic_load(&c.is_ending)) {
        int64_t begin_ns = sf_clock_mono_ns(), wait_ns = WAIT_NS, pause_ns;
        struct sf_why why = {0};
        bool is_understood;
        enum sf_err err;
        if (c.capture_end_ns && begin_ns >= c.capture_end_ns)
            end_capture();
        if (c.capture_end_ns && c.capture_end_ns - begin_ns < wait_ns)
            wait_ns = c.capture_end_ns - begin_ns;
        if (c.done[0] && !c.is_done_told)
            wait_ns = SF_NS_PER_S; /* report the finished capture soon */
        if (!sf_governor_is_settled() && wait_ns > SF_NS_PER_S)
            wait_ns = SF_NS_PER_S; /* on a busy machine it may take effect, and be reported, a
                                    * moment later */
        write_question(&path, wait_ns < SF_NS_PER_MS ? SF_NS_PER_MS : wait_ns);
        err = sf_buf_ok(&path) ? sf_http_post_get(&c.http, (const char *)path.p, c.doc.version,
                                                  sf_clock_mono_ns() + wait_ns + GRACE_NS, &a, &why)
                               : SF_ERR_NOMEM;
        is_understood = !err && a.status == 200 && control_client_take(&a);
        pause_ns = pause_after(err, &a, is_understood, sf_clock_mono_ns() - begin_ns);
        if (c.capture_end_ns && c.capture_end_ns - sf_clock_mono_ns() < pause_ns)
            pause_ns = c.capture_end_ns - sf_clock_mono_ns();
        sleep_for(pause_ns);
    }
    sf_http_post_done(&c.http);
    sf_buf_done(&path);
    sf_lock_take(&c.lock);
    c.is_running = false;
    sf_lock_give(&c.lock);
}

void sf_control_client_start(const struct sf_settings *settings, const char *instance_id)
{
    if (!settings->profiling.block.has_control || settings->profile_exporter.is_off ||
        !settings->profiling.kinds)
        return;
    sf_lock_take(&c.lock);
    if (!c.is_running) {
        c.settings = settings;
        snprintf(c.instance, sizeof(c.instance), "%s",
                 settings->instance[0] ? settings->instance : instance_id);
        atomic_store(&c.is_ending, false);
        c.is_running = sf_guest_thread_start(
            (struct sf_guest){"spanflame-ctl", true, control_client_run, NULL});
    }
    sf_lock_give(&c.lock);
}

void sf_control_client_stop(void)
{
    atomic_store(&c.is_ending, true);
    sf_notifier_notify(&c.bell);
}

void sf_control_client_after_fork(void)
{
    sf_lock_reset(&c.lock);
    sf_peer_leave(&c.http.peer);
    c.is_running = false;
    c.doc = (struct sf_control_order){0};
    c.done[0] = 0;
    c.capture_end_ns = 0;
    c.pause = (struct sf_control_pause){0};
    c.cost_window = (struct sf_own_cost_window){0};
}

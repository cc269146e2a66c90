#include "serve/own/self_profile.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/own_profiler.h"
#include "serve/call.h"
#include "serve/params.h"

enum { STEP_MS = 50, DEFAULT_S = 30, DEFAULT_HZ = 100, MAX_HZ = 1000, MAX_LEN = 64 << 20 };

void sf_self_profile_init(struct sf_self_profile *p)
{
    *p = (struct sf_self_profile){0};
    sf_mutex_init(&p->mutex, SF_LOCK_SERVE_SELF_PROFILE);
}

void sf_self_profile_join(struct sf_self_profile *p)
{
    sf_thread_join(&p->thread);
    p->thread = (struct sf_thread){0};
}

void sf_self_profile_done(struct sf_self_profile *p)
{
    sf_self_profile_join(p);
    sf_mutex_done(&p->mutex);
}

/* ---- on the profiling thread ---- */

/* CANCELLED: the client has disconnected. */
static enum sf_err wait_until(const struct sf_call *call, int64_t until_ns, struct sf_why *why)
{
    while (sf_clock_mono_ns() < until_ns) {
        if (atomic_load(sf_exchange_cancel(call->ex)))
            return sf_fail(why, SF_ERR_CANCELLED, "the client disconnected");
        if (atomic_load(&call->service->state) == SF_SERVICE_STOPPING)
            return SF_OK; /* the server stops: return the profile so far */
        sf_clock_sleep_ms(STEP_MS);
    }
    return SF_OK;
}

static enum sf_err self_profile_measure(const struct sf_self_profile *p, const char *path,
                                        struct sf_why *why)
{
    struct sf_own_profiler own;
    enum sf_err waited, err = sf_own_profiler_open(&own, why);
    struct sf_why after;

    if (!err && !p->length_ns)
        return sf_own_profiler_heap(&own, path, why);
    if (!err)
        err = sf_own_profiler_cpu_start(&own, path, p->rate_hz, why);
    if (err)
        return err;
    waited = wait_until(p->call, sf_clock_mono_ns() + p->length_ns, why);
    err = sf_own_profiler_cpu_stop(&own, &after);
    if (waited || !err)
        return waited;
    *why = after;
    return err;
}

/* The library writes to a path; this one is a memory file of the process. */
static enum sf_err self_profile_take(const struct sf_self_profile *p, struct sf_buf *out,
                                     struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    char path[64];
    enum sf_err err = sf_file_memory("profile", &file, path, sizeof(path), why);

    if (!err)
        err = self_profile_measure(p, path, why);
    if (!err)
        err = sf_file_read_all(&file, MAX_LEN, out, why);
    sf_file_close(&file);
    return err;
}

static void self_profile_run(void *arg)
{
    struct sf_self_profile *p = arg;
    struct sf_call *call = p->call;
    struct sf_why why = {0};
    struct sf_buf body = {0};
    enum sf_err err = self_profile_take(p, &body, &why);

    if (err) {
        sf_call_fail(call, err, &why);
    } else {
        sf_call_ok(call, "application/octet-stream");
        sf_buf_add(&call->response->body, body.p, body.len);
    }
    sf_buf_done(&body);
    sf_mutex_lock(&p->mutex);
    p->is_busy = false; /* before the answer, because the client may start the next profile at
                         * once */
    sf_mutex_unlock(&p->mutex);
    sf_call_finish(call);
}

/* ---- on the loop ---- */

static bool self_profile_claim(struct sf_self_profile *p)
{
    bool is_free;
    sf_mutex_lock(&p->mutex);
    is_free = !p->is_busy;
    p->is_busy = true;
    sf_mutex_unlock(&p->mutex);
    return is_free;
}

static bool self_profile_begin(struct sf_call *call, int64_t length_ns, unsigned rate_hz)
{
    struct sf_self_profile *p = &call->service->self_profile;
    struct sf_why why = {0};
    enum sf_err err;

    if (!self_profile_claim(p)) {
        (void)sf_fail(&why, SF_ERR_BUSY, "a profile of the server is being taken: one at a time");
        return sf_call_fail(call, SF_ERR_BUSY, &why);
    }
    sf_self_profile_join(p); /* the previous thread has sent its answer and ends within a moment */
    p->call = call;
    p->length_ns = length_ns;
    p->rate_hz = rate_hz;
    err = sf_thread_start(&p->thread, "self-profile", 0, self_profile_run, p, &why);
    if (!err)
        return false;
    sf_mutex_lock(&p->mutex);
    p->is_busy = false;
    sf_mutex_unlock(&p->mutex);
    return sf_call_fail(call, err, &why);
}

bool sf_self_profile_cpu(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    uint64_t seconds = DEFAULT_S, rate = DEFAULT_HZ;
    struct sf_why why = {0};
    enum sf_err err = sf_params_count(call->request, SF_STR("seconds"), &seconds, &why);

    if (!err)
        err = sf_params_count(call->request, SF_STR("rate"), &rate, &why);
    if (!err && (seconds == 0 || seconds > SF_LIMIT_SELF_PROFILE_S))
        err = sf_fail(&why, SF_ERR_INPUT, "seconds: 1 to %d", SF_LIMIT_SELF_PROFILE_S);
    if (!err && (rate == 0 || rate > MAX_HZ))
        err = sf_fail(&why, SF_ERR_INPUT, "rate: 1 to %d samples a second", MAX_HZ);
    if (err)
        return sf_call_fail(call, err, &why);
    return self_profile_begin(call, (int64_t)seconds * SF_NS_PER_S, (unsigned)rate);
}

bool sf_self_profile_heap(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    return self_profile_begin(call, 0, 0);
}

/* library.c - the library's one instance in a process and most of its public functions: settings
 * from sf_set(), environment and file; start and stop; exporters; what happens before and after
 * fork(); counters. Public calls may come from any thread. */
#include "collect/lib/library.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "collect/lib/config_file.h"
#include "collect/lib/control_client.h"
#include "collect/lib/governor.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/process_context.h"
#include "collect/lib/profile_file.h"
#include "collect/lib/profile_sources.h"
#include "collect/lib/profile_upload.h"
#include "collect/lib/profiler.h"
#include "collect/lib/recorded.h"
#include "collect/lib/resource.h"
#include "collect/lib/span_pool.h"
#include "collect/lib/waits.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "collect/sys/heap_fork.h"
#include "collect/sys/peer_tls.h"
#include "wire/pb_write.h"

enum { MAX_OVERRIDES = 32, EXIT_MS = 3000 };

struct sf_library sf_library = {.epoch = 1};

static struct sf_lock lock; /* guards start and stop, the overrides, the last problem; held while
                             * the settings are read; taken before the exporters' locks */
static struct {
    char *name, *val;
} overrides[MAX_OVERRIDES];
static int n_overrides;
static char problem[240];
static struct sf_config_file config_file; /* SPANFLAME_CONFIG */
static char instance_id[SF_INSTANCE_ID_CAP];
static bool is_read, is_published; /* is_read: the settings; is_published: this process's context */

void sf_library_say(const char *text)
{
    sf_lock_take(&lock);
    strncpy(problem, text, sizeof(problem) - 1);
    sf_lock_give(&lock);
}

size_t sf_library_problem(char *out, size_t cap)
{
    size_t len;
    sf_lock_take(&lock);
    len = strlen(problem);
    if (out && cap) {
        size_t n = len < cap - 1 ? len : cap - 1;
        memcpy(out, problem, n);
        out[n] = 0;
    }
    sf_lock_give(&lock);
    return len;
}

size_t sf_problem(char *out, size_t cap)
{
    struct sf_thread_state *t = &sf_thread_self;
    size_t len;
    if (!sf_library_enter(t))
        return 0;
    len = sf_library_problem(out, cap);
    sf_library_leave(t);
    return len;
}

static char *library_copy(const char *text)
{
    char *p = text ? sf_heap_new(strlen(text) + 1) : NULL;
    if (p)
        memcpy(p, text, strlen(text));
    return p;
}

int sf_set(const char *name, const char *val)
{
    struct sf_thread_state *t = &sf_thread_self;
    int result = -1;
    if (!name || !sf_library_enter(t))
        return -1;
    sf_lock_take(&lock);
    if (!is_read && n_overrides < MAX_OVERRIDES) {
        overrides[n_overrides].name = library_copy(name);
        overrides[n_overrides].val = library_copy(val ? val : "");
        if (overrides[n_overrides].name && overrides[n_overrides].val) {
            n_overrides++;
            result = 0;
        }
    }
    sf_lock_give(&lock);
    sf_library_leave(t);
    return result;
}

static const char *library_look_up(const char *name)
{
    for (int i = n_overrides; --i >= 0;) { /* the last one given wins */
        if (!strcmp(overrides[i].name, name))
            return overrides[i].val;
    }
    return getenv(name);
}

/* Precedence: a call of the program, the environment, the file. */
static const char *look_up_all(const char *name)
{
    const char *val = library_look_up(name);
    return val && *val ? val : sf_config_file_get(&config_file, name);
}

static void read_config_file(struct sf_why *why)
{
    const char *path = library_look_up("SPANFLAME_CONFIG");
    if (path && *path)
        sf_config_file_read(&config_file, path, why);
}

static void library_write_resource(struct sf_buf *out)
{
    size_t mark = sf_pb_write_begin(out, 1);
    sf_resource_write(out, &sf_library.settings, instance_id);
    sf_pb_write_end(out, mark);
}

static void library_write_scope(struct sf_buf *out)
{
    size_t mark = sf_pb_write_begin(out, 1);
    sf_pb_write_str(out, 1, SF_STR("spanflame"));
    sf_pb_write_str(out, 2, SF_STR(SPANFLAME_VERSION));
    sf_pb_write_end(out, mark);
}

static void library_publish(void)
{
    struct sf_buf attrs = {0};
    sf_resource_write(&attrs, &sf_library.settings, instance_id);
    if (sf_buf_ok(&attrs))
        sf_process_context_publish(&attrs);
    sf_buf_done(&attrs);
    is_published = true;
}

/* Takes the locks in the order in which they are always taken. */
static void before_fork(void)
{
    sf_lock_take(&lock);
    sf_exporter_before_fork(&sf_library.exporter);
    sf_exporter_before_fork(sf_profile_upload_exporter());
    sf_span_pool_before_fork();
    sf_profile_sources_before_fork();
    sf_heap_before_fork();
}

static void after_fork_in_parent(void)
{
    sf_heap_after_fork(false);
    sf_profile_sources_after_fork(false);
    sf_span_pool_after_fork(false);
    sf_exporter_after_fork(sf_profile_upload_exporter(), false);
    sf_exporter_after_fork(&sf_library.exporter, false);
    sf_lock_give(&lock);
}

/* The child is a separate process: other ids, nothing queued, no threads yet. Its context is
 * published and its profilers start with its first span, because most children exec at once. */
static void after_fork_in_child(void)
{
    int saved = errno;
    sf_heap_after_fork(true);
    sf_span_pool_after_fork(true);
    sf_exporter_after_fork(&sf_library.exporter, true);
    sf_exporter_after_fork(sf_profile_upload_exporter(), true);
    sf_lock_reset(&lock);
    sf_guest_thread_forget();
    sf_own_cost_after_fork();
    sf_profile_upload_after_fork();
    sf_control_client_after_fork();
    sf_profile_file_after_fork();
    sf_profile_sources_after_fork(true);
    sf_process_context_forget();
    is_published = false;
    atomic_store(&sf_library.is_new_child, true);
    sf_resource_instance_id(instance_id);
    atomic_fetch_add(&sf_library.epoch, 1);
    errno = saved;
}

enum sf_err sf_library_follow_forks(struct sf_why *why)
{
    static atomic_bool is_followed;
    if (atomic_exchange(&is_followed, true) ||
        !pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child))
        return SF_OK;
    atomic_store(&is_followed, false);
    return sf_fail(why, SF_ERR_NOMEM, "no memory to register the fork handlers");
}

static enum sf_err read_settings(const char *service, struct sf_why *why)
{
    struct sf_exporter *e = &sf_library.exporter;
    enum sf_err err;
    if (getauxval(AT_SECURE))
        return sf_fail(why, SF_ERR_DENIED, "a program with raised privileges is not traced");
    read_config_file(why);
    err = sf_settings_read(&sf_library.settings, service, look_up_all, why);
    if (err)
        return err;
    e->settings = &sf_library.settings.exporter;
    e->outbox.max = SF_OUTBOX_MAX;
    e->write_resource = library_write_resource;
    e->write_scope = library_write_scope;
    e->say = sf_library_say;
    e->noun = "spans";
    sf_profile_upload_init(&sf_library.settings, library_write_resource, library_write_scope,
                           sf_library_say);
    sf_resource_instance_id(instance_id);
    err = sf_library_follow_forks(why);
    if (err) {
        sf_settings_done(&sf_library.settings);
        return err;
    }
    is_read = true;
    return SF_OK;
}

static const struct {
    sf_profile_set profile;
    unsigned kinds;
} bits[] = {
    {SF_PROFILE_CPU, 1u << SF_SAMPLES_CPU},
    {SF_PROFILE_WALL, 1u << SF_SAMPLES_WALL},
    {SF_PROFILE_HEAP, 1u << SF_SAMPLES_ALLOC | 1u << SF_SAMPLES_INUSE},
    {SF_PROFILE_MUTEX, 1u << SF_SAMPLES_MUTEX},
    {SF_PROFILE_BLOCK, 1u << SF_SAMPLES_BLOCK},
    {SF_PROFILE_THREADS, 1u << SF_SAMPLES_THREADS},
};

static unsigned library_kinds_of(unsigned profiles)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
        kinds |= profiles & (unsigned)bits[i].profile ? bits[i].kinds : 0;
    return kinds;
}

/* Starts the configured profilers; a program that cannot be profiled is still traced. A profiler
 * that is not available is reported once if it was requested explicitly; the others run. */
static void library_begin_profiles(struct sf_why *why)
{
    const struct sf_profiling_settings *s = &sf_library.settings.profiling;
    unsigned there = sf_profiler_kinds_there(), kinds = s->kinds & there;
    if (s->is_default && sf_library.settings.profile_exporter.is_off)
        return;
    if (!s->is_default)
        sf_profile_sources_check(s->kinds, why);
    if (kinds)
        sf_profile_upload_start(kinds, why);
}

int sf_start(const char *service)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    int saved = errno;
    bool is_begun;

    if (!sf_library_enter(t))
        return -1;
    sf_lock_take(&lock);
    if (!is_read)
        err = read_settings(service, &why);
    if (!err && !sf_library.settings.is_disabled) {
        atomic_store(&sf_library.exporter.is_ending, false);
        atomic_store(&sf_profile_upload_exporter()->is_ending, false);
        atomic_store_explicit(&sf_library.is_on, true, memory_order_release);
        if (!is_published)
            library_publish();
    }
    is_begun = !err && !sf_library.settings.is_disabled;
    sf_lock_give(&lock);
    if (is_begun) {
        library_begin_profiles(&why);
        sf_control_client_start(&sf_library.settings, instance_id);
    }
    if (why.text[0])
        sf_library_say(why.text);
    sf_library_leave(t);
    errno = saved;
    return err ? -1 : 0;
}

void sf_library_begin_child(void)
{
    if (!atomic_exchange(&sf_library.is_new_child, false) || !atomic_load(&sf_library.is_on))
        return;
    sf_lock_take(&lock);
    if (!is_published)
        library_publish();
    sf_lock_give(&lock);
    sf_profile_upload_begin_child();
    sf_control_client_start(&sf_library.settings, instance_id);
}

int sf_profiling_start(unsigned profiles)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_why why = {0};
    enum sf_err err;
    int saved = errno;
    if (!sf_library_enter(t))
        return -1;
    if (atomic_load(&sf_library.is_on))
        err = sf_profile_upload_start(library_kinds_of(profiles), &why);
    else
        err = sf_fail(&why, SF_ERR_BUSY, "profiling: call sf_start first");
    if (err)
        sf_library_say(why.text);
    sf_library_leave(t);
    errno = saved;
    return err ? -1 : 0;
}

void sf_profiling_stop(unsigned profiles)
{
    struct sf_thread_state *t = &sf_thread_self;
    int saved = errno;
    if (!sf_library_enter(t))
        return;
    sf_profile_upload_stop(library_kinds_of(profiles));
    sf_library_leave(t);
    errno = saved;
}

unsigned sf_profiling(void)
{
    unsigned kinds = sf_profiler_on_for(SF_FOR_SERVER), profiles = 0;
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
        profiles |= kinds & bits[i].kinds ? (unsigned)bits[i].profile : 0;
    return profiles;
}

/* Flushes both exporters; the second gets the time that the first has left. */
static bool library_flush(int64_t timeout_ns, bool is_ending)
{
    int64_t end_ns = sf_clock_mono_ns() + timeout_ns, left_ns;
    bool ok = sf_exporter_flush(&sf_library.exporter, timeout_ns, is_ending);
    left_ns = end_ns - sf_clock_mono_ns();
    return sf_profile_upload_flush(left_ns > SF_NS_PER_MS ? left_ns : SF_NS_PER_MS, is_ending) &&
           ok;
}

int sf_flush(unsigned timeout_ms)
{
    struct sf_thread_state *t = &sf_thread_self;
    int saved = errno;
    bool ok;
    if (!sf_library_enter(t))
        return -1;
    ok = !is_read || library_flush(timeout_ms * SF_NS_PER_MS, false);
    sf_library_leave(t);
    errno = saved;
    return ok ? 0 : -1;
}

void sf_stop(void)
{
    struct sf_thread_state *t = &sf_thread_self;
    int saved = errno;
    if (!sf_library_enter(t))
        return;
    if (atomic_exchange(&sf_library.is_on, false)) {
        sf_control_client_stop();
        sf_profile_upload_will_end();
        sf_profile_upload_stop(~0u);
        library_flush(EXIT_MS * SF_NS_PER_MS, true);
    }
    sf_library_leave(t);
    errno = saved;
}

/* The library's last function to run: after main and after exit handlers. */
__attribute__((destructor)) static void at_exit(void)
{
    sf_recorded_at_exit();
    sf_stop();
}

__attribute__((constructor)) static void library_at_load(void)
{
    sf_peer_tls_before_end(at_exit);
}

void sf_counters_read(sf_counters *out)
{
    sf_counters c = {0};
    uint64_t paused_ns;
    const struct sf_exporter *e = &sf_library.exporter, *x = sf_profile_upload_exporter();
    if (!out || out->size < sizeof(c.size))
        return;
    sf_span_pool_count(&c.spans_started, &c.spans_unsampled, &c.spans_queued);
    c.size = out->size < sizeof(c) ? out->size : sizeof(c);
    c.spans_sent = atomic_load(&e->counts.sent);
    c.spans_dropped = atomic_load(&sf_library.dropped);
    c.spans_refused = atomic_load(&e->counts.refused);
    c.spans_lost = atomic_load(&e->counts.lost);
    c.spans_nested = atomic_load(&sf_library.nested);
    c.attrs_dropped = atomic_load(&sf_library.attrs_dropped);
    c.requests_sent = atomic_load(&e->counts.requests) + atomic_load(&x->counts.requests);
    c.requests_failed = atomic_load(&e->counts.requests_failed) +
                        atomic_load(&x->counts.requests_failed);
    c.bytes_sent = atomic_load(&e->counts.bytes) + atomic_load(&x->counts.bytes);
    c.outbox_bytes = sf_outbox_held(&e->outbox) + sf_outbox_held(&x->outbox);
    c.memory_bytes = sf_heap_held();
    c.profiles_sent = atomic_load(&x->counts.sent);
    c.profiles_dropped = sf_profile_upload_dropped();
    c.profiles_refused = atomic_load(&x->counts.refused);
    c.profiles_lost = atomic_load(&x->counts.lost);
    sf_profiler_count(&c.samples_taken, &c.samples_dropped);
    sf_profiler_paused(&c.profiling_paused, &paused_ns);
    c.profiling_paused_ms = paused_ns / SF_NS_PER_MS;
    c.cpu_rate_hz = sf_governor_rate();
    c.profiling_cpu_ns = sf_own_cost_ns();
    sf_heap_profiler_count(&c.heap_samples, &c.heap_mean_bytes);
    sf_waits_count(&c.wait_samples, &c.wait_mean_ns);
    if (!(atomic_load(&sf_profiler_kinds) & SF_WAIT_KINDS))
        c.wait_mean_ns = 0;
    memcpy(out, &c, c.size);
}

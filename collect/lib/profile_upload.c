#include "collect/lib/profile_upload.h"

#include "collect/lib/governor.h"
#include "collect/lib/library.h"
#include "collect/lib/otlp_profile_write.h"
#include "collect/lib/profile_sources.h"
#include "collect/lib/sample.h"
#include "collect/lib/selection.h"
#include "collect/lib/settings.h"
#include "collect/sys/clock.h"

enum { OUTBOX_MAX = 6 << 20 };

static struct sf_exporter exporter = {.is_whole = true, .noun = "profiles"};
static atomic_uint_fast64_t n_dropped;
static atomic_uint wanted;
static uint64_t max_len;
static struct sf_symbol_budget symbols; /* used by the collecting thread */
static atomic_bool is_last;             /* the current profile is the last: look up all its names */

struct sf_exporter *sf_profile_upload_exporter(void)
{
    return &exporter;
}

uint64_t sf_profile_upload_dropped(void)
{
    return atomic_load(&n_dropped);
}

/* Called in the collecting thread. */
static void lib_profile_upload(struct sf_profile *list, unsigned n)
{
    struct sf_buf resource = {0}, scope = {0}, body = {.max = max_len};
    struct sf_why why = {0};
    uint32_t n_profiles = 0;
    enum sf_err err;
    for (unsigned i = 0; i < n; i++)
        sf_selection_apply(&list[i].table);
    sf_selection_next_window();
    exporter.write_resource(&resource);
    exporter.write_scope(&scope);
    sf_symbol_budget_set(&symbols, sf_governor_symbol_credit(), sf_clock_process_cpu_ns());
    err = sf_otlp_profile_write(list, n,
                                &(struct sf_otlp_frame){sf_buf_bytes(&resource),
                                                        sf_buf_bytes(&scope),
                                                        atomic_load(&is_last) ? NULL : &symbols},
                                &body, &n_profiles, &why);
    if (err)
        exporter.say(why.text);
    else if (n_profiles && !sf_exporter_add_whole(&exporter, sf_buf_bytes(&body), n_profiles))
        err = SF_ERR_FULL;
    if (err)
        atomic_fetch_add(&n_dropped, n_profiles ? n_profiles : n);
    sf_buf_done(&resource);
    sf_buf_done(&scope);
    sf_buf_done(&body);
}

void sf_profile_upload_init(const struct sf_settings *settings,
                            void (*write_resource)(struct sf_buf *out),
                            void (*write_scope)(struct sf_buf *out), void (*say)(const char *))
{
    const struct sf_profiling_settings *s = &settings->profiling;
    exporter.settings = &settings->profile_exporter;
    exporter.outbox.max = OUTBOX_MAX;
    exporter.write_resource = write_resource;
    exporter.write_scope = write_scope;
    exporter.say = say;
    max_len = s->block.max_profile_len;
    sf_sample_max_frames = (uint16_t)s->block.max_stack_depth;
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++)
        sf_profiler_set_period((enum sf_sample_kind)kind, s->periods[kind]);
    sf_profile_sources_set();
    sf_governor_init(&s->block, false);
    sf_selection_init(&s->block);
    sf_profiler_set_upload(s->block.upload_interval_ns, lib_profile_upload);
}

enum sf_err sf_profile_upload_start(unsigned kinds, struct sf_why *why)
{
    enum sf_err err = sf_profile_sources_check(kinds, why);
    kinds &= ~sf_profiler_on_for(SF_FOR_SERVER);
    atomic_store(&is_last, false);
    if (kinds && !err)
        err = sf_profiler_start(SF_FOR_SERVER, kinds, why);
    if (!err)
        atomic_fetch_or(&wanted, kinds);
    return err;
}

void sf_profile_upload_begin_child(void)
{
    if (atomic_load(&wanted))
        sf_profiler_start_soon(SF_FOR_SERVER, atomic_load(&wanted));
}

void sf_profile_upload_will_end(void)
{
    atomic_store(&is_last, true);
}

void sf_profile_upload_stop(unsigned kinds)
{
    atomic_fetch_and(&wanted, ~kinds);
    if (sf_profiler_on_for(SF_FOR_SERVER) & kinds)
        sf_profiler_stop(SF_FOR_SERVER, kinds, NULL, NULL);
}

bool sf_profile_upload_flush(int64_t timeout_ns, bool is_ending)
{
    sf_profiler_flush();
    return sf_exporter_flush(&exporter, timeout_ns, is_ending);
}

void sf_profile_upload_after_fork(void)
{
    symbols = (struct sf_symbol_budget){0};
    atomic_store(&is_last, false);
}

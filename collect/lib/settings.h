/* settings.h - the settings from the environment and sf_set, read once at start. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/lib/profiling_settings.h"
#include "collect/lib/sampler.h"
#include "collect/send/exporter.h"

struct sf_settings {  /* must not be moved after it was read: the exporter borrows from it */
    bool is_disabled; /* OTEL_SDK_DISABLED */
    char service[256];
    struct sf_buf resource; /* KeyValue messages of Resource, field 1 each; service.name too */
    bool has_instance_id, has_host_name, has_cpu_limit; /* among them */
    char instance[129];            /* value of service.instance.id; empty: none, or too long */
    struct sf_buf headers;         /* header lines for the exporter */
    struct sf_buf profile_headers; /* the same for profiles */
    struct sf_exporter_settings exporter, profile_exporter;
    struct sf_profiling_settings profiling;
    unsigned cost_items; /* SPANFLAME_SPAN_COST: bits of enum sf_cost_item */
    struct sf_sampler sampler;
    uint32_t max_attrs, max_events, max_links, max_value_len;
};

/* Reads all settings. An unusable value is reported in `why` and replaced by the default, so that a
 * typing error in an optional variable does not disable tracing. INPUT: an unusable endpoint.
 * NOMEM. */
enum sf_err sf_settings_read(struct sf_settings *s, const char *service, sf_settings_get get,
                             struct sf_why *why);
void sf_settings_done(struct sf_settings *s);

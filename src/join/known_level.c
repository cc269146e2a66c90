/* known_level.c - determines how much of an answer is certain, and the smallest unit for which all
 * of it is: a span with its children, or a service in that time. */
#include "join/known_level.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time_unit.h"
#include "link/coverage_hint.h"

/* Whether the command takes the name for a service: others may be a flag, a number of a row, a file
 * or an address, which it would read. */
static bool is_plain_service(sf_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-' || c == '_')))
            return false;
    }
    return name.len > 0;
}

/* A service's name is untrusted text: it is quoted for the shell and for the command. */
static bool name_service(struct sf_known_view *k, struct sf_arena *req)
{
    char line[160];
    struct sf_buf text = {0};
    snprintf(line, sizeof(line), "spanflame flame %s --time-range %" PRId64 "..%" PRId64,
             is_plain_service(k->service) ? "SERVICE@word" : "'{service_name=\"SERVICE@query\"}'",
             k->from_ns / SF_NS_PER_S, (k->to_ns + SF_NS_PER_S - 1) / SF_NS_PER_S);
    sf_coverage_hint_fill(line, k->service, SF_STR_NONE, &text);
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), &k->command);
    sf_buf_done(&text);
    return is_kept;
}

bool sf_known_level_of(const struct sf_link_set *set, const struct sf_known_claims *known,
                       uint32_t span, struct sf_arena *req, struct sf_known_view *out)
{
    char id[17];
    struct sf_known_view k = {
        .n_samples = known->n_samples, .n_estimated = known->n_estimated, .value = known->value};
    *out = k;
    if (k.n_estimated == 0)
        return true;
    if (known->within != SF_NOBODY) {
        k.span = set->spans[known->within].span_id;
        k.name = set->spans[known->within].name;
        k.service = set->services[known->within];
        sf_span_id_render(k.span, id);
        if (!sf_arena_print(req, &k.command, "spanflame flame --span %s", id))
            return false;
    } else if (span != SF_NOBODY) {
        bool is_window = set->source == SF_LINK_AGGREGATE;
        k.service = set->services[span];
        k.from_ns = is_window ? set->window_from_ns : (int64_t)set->spans[span].start_ns;
        k.to_ns = is_window ? set->window_to_ns : (int64_t)set->spans[span].end_ns;
        if (!name_service(&k, req))
            return false;
    }
    *out = k;
    return true;
}

bool sf_known_level_say(const struct sf_known_view *k, struct sf_arena *req, sf_str *reason)
{
    if (k->n_estimated == 0 || k->command.len == 0)
        return true;
    if (k->span != 0)
        return sf_arena_print(req, reason,
                              "%.*s%sUse the span %.*s with its children instead: %.*s",
                              SF_STR_ARG(*reason), reason->len > 0 ? ". " : "", SF_STR_ARG(k->name),
                              SF_STR_ARG(k->command));
    return sf_arena_print(req, reason, "%.*s%sUse the profile of %.*s in this time instead: %.*s",
                          SF_STR_ARG(*reason), reason->len > 0 ? ". " : "", SF_STR_ARG(k->service),
                          SF_STR_ARG(k->command));
}

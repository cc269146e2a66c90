#include "serve/own/control_doc.h"

#include <stdio.h>
#include <string.h>

#include "base/profiling_keys.h"
#include "base/setting.h"
#include "base/time_unit.h"
#include "wire/json.h"

enum {
    CPU_HZ = 100, /* the collectors' default rate: a higher one counts as raised */
    WALL_HZ = 20,
    MAX_HZ = 1000,
    FOR_DEFAULT_MS = 10 * 60 * 1000,
    FOR_MAX_MS = 60 * 60 * 1000
};

static void read_rate(struct sf_json *j, uint32_t *out, unsigned bit, unsigned *has)
{
    *out = sf_json_u32(j);
    if (*out < 1 || *out > MAX_HZ)
        sf_json_fault(j, "a rate is 1 to 1000 samples per second");
    *has |= bit;
}

static void read_rates(struct sf_json *j, struct sf_control_doc *d)
{
    sf_str key;
    if (sf_json_peek(j) == SF_JSON_NUMBER) { /* "rate": 200 is the CPU rate */
        read_rate(j, &d->cpu_hz, SF_CONTROL_CPU, &d->has);
        return;
    }
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("cpu")))
            read_rate(j, &d->cpu_hz, SF_CONTROL_CPU, &d->has);
        else if (sf_str_eq(key, SF_STR("wall")))
            read_rate(j, &d->wall_hz, SF_CONTROL_WALL, &d->has);
        else
            sf_json_fault(j, "only the rates of cpu and wall can change while a program runs");
    }
}

static void read_budget(struct sf_json *j, struct sf_control_doc *d)
{
    if (!sf_setting_percent_parse(sf_json_str(j), &d->budget_per_10000))
        sf_json_fault(j, "a percentage such as \"1%\"");
    d->has |= SF_CONTROL_BUDGET;
}

static const char *const condition_names[SF_CONTROL_N_CONDITIONS] = {
    "share",          "baseline", "slow_request_threshold", "cpu_threshold_percent",
    "profile_errors", "escalate"};

static const struct sf_profiling_key *control_doc_key_of(const char *name)
{
    static const char section[] = "profiling.conditional.";
    for (size_t i = 0; i < sf_profiling_n_keys; i++) {
        if (!strncmp(sf_profiling_keys[i].path, section, sizeof(section) - 1) &&
            !strcmp(sf_profiling_keys[i].path + sizeof(section) - 1, name))
            return &sf_profiling_keys[i];
    }
    return NULL;
}

static void read_condition(struct sf_json *j, sf_str name, struct sf_control_doc *d)
{
    struct sf_profiling scratch;
    sf_str text;
    int i = 0;
    while (i < SF_CONTROL_N_CONDITIONS && !sf_str_eq(name, sf_str_from(condition_names[i])))
        i++;
    if (i == SF_CONTROL_N_CONDITIONS) {
        sf_json_fault(j, "not a condition: share, baseline, slow_request_threshold, "
                         "cpu_threshold_percent, profile_errors, escalate");
        return;
    }
    if (sf_json_peek(j) == SF_JSON_BOOL)
        text = sf_json_bool(j) ? SF_STR("true") : SF_STR("false");
    else
        text = sf_str_trim(sf_json_str(j));
    for (size_t at = 0; at < text.len; at++) {
        if ((unsigned char)text.p[at] < 0x20)
            text.len = 0; /* refused below: a value must be one line */
    }
    if (text.len >= SF_CONTROL_CONDITION_CAP ||
        sf_profiling_keys_set(&scratch, control_doc_key_of(condition_names[i]), text, NULL)) {
        sf_json_fault(j, "a value as the configuration has it, such as \"10%\", \"500ms\", true");
        return;
    }
    memcpy(d->conditions[i], text.p, text.len);
    d->conditions[i][text.len] = 0;
    d->has |= SF_CONTROL_CONDITIONS;
}

void sf_control_doc_read_conditions(struct sf_json *j, struct sf_control_doc *out)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key))
        read_condition(j, key, out);
}

void sf_control_doc_write_conditions(const struct sf_control_doc *d, struct sf_json_writer *j)
{
    sf_json_write_key(j, SF_STR("conditions"));
    sf_json_write_object(j);
    for (int i = 0; i < SF_CONTROL_N_CONDITIONS; i++) {
        if (d->conditions[i][0])
            sf_json_write_key_str(j, sf_str_from(condition_names[i]),
                                  sf_str_from(d->conditions[i]));
    }
    sf_json_write_object_end(j);
}

static void read_length(struct sf_json *j, int64_t *out_ms)
{
    int64_t ns = 0;
    if (sf_setting_duration_parse(sf_json_str(j), SF_DURATION_BLANKS, &ns, NULL) ||
        ns < SF_NS_PER_S || ns > FOR_MAX_MS * SF_NS_PER_MS)
        sf_json_fault(j, "a duration of 1s to 1h, such as \"10m\"");
    *out_ms = ns / SF_NS_PER_MS;
}

enum sf_err sf_control_doc_parse(sf_str json, int64_t now_ms, struct sf_arena *req,
                                 struct sf_control_doc *out, struct sf_why *why)
{
    struct sf_control_doc d = {0};
    int64_t for_ms = 0;
    struct sf_json j;
    sf_str key;
    enum sf_err err;

    sf_json_init(&j, json, req);
    if (sf_json_peek(&j) != SF_JSON_OBJECT)
        sf_json_fault(&j, "a document is an object such as {\"enabled\": true}");
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("enabled"))) {
                d.is_enabled = sf_json_bool(&j);
                d.has |= SF_CONTROL_ENABLED;
            } else if (sf_str_eq(key, SF_STR("rate"))) {
                read_rates(&j, &d);
            } else if (sf_str_eq(key, SF_STR("budget"))) {
                read_budget(&j, &d);
            } else if (sf_str_eq(key, SF_STR("conditions"))) {
                sf_control_doc_read_conditions(&j, &d);
            } else if (sf_str_eq(key, SF_STR("for"))) {
                read_length(&j, &for_ms);
            } else {
                sf_json_fault(&j,
                              "not a key of a document: enabled, rate, budget, conditions, for");
            }
        }
    }
    if (sf_json_ok(&j))
        sf_json_end(&j);
    err = sf_json_why(&j, "document", why);
    if (err)
        return err;
    if (!d.has)
        return sf_fail(why, SF_ERR_INPUT, "document: it is empty");
    if (for_ms && !(d.has & (SF_CONTROL_CPU | SF_CONTROL_WALL)))
        return sf_fail(why, SF_ERR_INPUT, "document: for applies to rates only");
    if (!for_ms && (d.cpu_hz > CPU_HZ || d.wall_hz > WALL_HZ))
        for_ms = FOR_DEFAULT_MS;
    if (for_ms && d.has & SF_CONTROL_CPU)
        d.cpu_until_ms = now_ms + for_ms;
    if (for_ms && d.has & SF_CONTROL_WALL)
        d.wall_until_ms = now_ms + for_ms;
    *out = d;
    return SF_OK;
}

void sf_control_doc_put_over(struct sf_control_doc *under, const struct sf_control_doc *over)
{
    if (over->has & SF_CONTROL_ENABLED)
        under->is_enabled = over->is_enabled;
    if (over->has & SF_CONTROL_CPU) {
        under->cpu_hz = over->cpu_hz;
        under->cpu_until_ms = over->cpu_until_ms;
    }
    if (over->has & SF_CONTROL_WALL) {
        under->wall_hz = over->wall_hz;
        under->wall_until_ms = over->wall_until_ms;
    }
    if (over->has & SF_CONTROL_BUDGET)
        under->budget_per_10000 = over->budget_per_10000;
    for (int i = 0; i < SF_CONTROL_N_CONDITIONS; i++) {
        if (over->conditions[i][0])
            memcpy(under->conditions[i], over->conditions[i], SF_CONTROL_CONDITION_CAP);
    }
    under->has |= over->has;
}

static void end_rate(struct sf_control_doc *d, unsigned field, uint32_t *hz, int64_t *until_ms,
                     int64_t now_ms)
{
    if (!*until_ms || now_ms < *until_ms)
        return;
    d->has &= ~field;
    *hz = 0;
    *until_ms = 0;
}

void sf_control_doc_end_rates(struct sf_control_doc *d, int64_t now_ms)
{
    end_rate(d, SF_CONTROL_CPU, &d->cpu_hz, &d->cpu_until_ms, now_ms);
    end_rate(d, SF_CONTROL_WALL, &d->wall_hz, &d->wall_until_ms, now_ms);
}

int64_t sf_control_doc_next_end(const struct sf_control_doc *d)
{
    bool is_cpu = d->cpu_until_ms && (!d->wall_until_ms || d->cpu_until_ms < d->wall_until_ms);
    return is_cpu ? d->cpu_until_ms : d->wall_until_ms;
}

/* When the first rate ends; and, if the other one ends at another time, when each of them does. */
static void write_ends(const struct sf_control_doc *d, struct sf_json_writer *j)
{
    int64_t next_ms = sf_control_doc_next_end(d);
    bool has_both = d->has & SF_CONTROL_CPU && d->has & SF_CONTROL_WALL;
    if (!next_ms)
        return;
    sf_json_write_key(j, SF_STR("rateUntilMs"));
    sf_json_write_i64(j, next_ms);
    if (!has_both || d->cpu_until_ms == d->wall_until_ms)
        return;
    sf_json_write_key(j, SF_STR("rateUntil"));
    sf_json_write_object(j);
    sf_json_write_key(j, SF_STR("cpu"));
    sf_json_write_i64(j, d->cpu_until_ms);
    sf_json_write_key(j, SF_STR("wall"));
    sf_json_write_i64(j, d->wall_until_ms);
    sf_json_write_object_end(j);
}

void sf_control_doc_write(const struct sf_control_doc *d, struct sf_json_writer *j)
{
    char budget[16];
    int len;
    if (d->has & SF_CONTROL_ENABLED) {
        sf_json_write_key(j, SF_STR("enabled"));
        sf_json_write_bool(j, d->is_enabled);
    }
    if (d->has & (SF_CONTROL_CPU | SF_CONTROL_WALL)) {
        sf_json_write_key(j, SF_STR("rate"));
        sf_json_write_object(j);
        if (d->has & SF_CONTROL_CPU)
            sf_json_write_key_u64(j, SF_STR("cpu"), d->cpu_hz);
        if (d->has & SF_CONTROL_WALL)
            sf_json_write_key_u64(j, SF_STR("wall"), d->wall_hz);
        sf_json_write_object_end(j);
    }
    write_ends(d, j);
    if (d->has & SF_CONTROL_BUDGET) {
        len = snprintf(budget, sizeof(budget), "%g%%", d->budget_per_10000 / 100.0);
        sf_json_write_key_str(j, SF_STR("budget"), (sf_str){budget, (size_t)len});
    }
    if (d->has & SF_CONTROL_CONDITIONS)
        sf_control_doc_write_conditions(d, j);
}

void sf_control_doc_print(const struct sf_control_doc *d, struct sf_buf *out)
{
    if (d->has & SF_CONTROL_ENABLED)
        sf_buf_print(out, "enabled %s\n", d->is_enabled ? "true" : "false");
    if (d->has & SF_CONTROL_CPU)
        sf_buf_print(out, "rate.cpu %u\n", d->cpu_hz);
    if (d->has & SF_CONTROL_WALL)
        sf_buf_print(out, "rate.wall %u\n", d->wall_hz);
    if (sf_control_doc_next_end(d)) /* in case the collector cannot reach the server then */
        sf_buf_print(out, "rate.until %lld\n", (long long)sf_control_doc_next_end(d));
    if (d->has & SF_CONTROL_BUDGET)
        sf_buf_print(out, "budget %g%%\n", d->budget_per_10000 / 100.0);
    for (int i = 0; i < SF_CONTROL_N_CONDITIONS; i++) {
        if (d->conditions[i][0])
            sf_buf_print(out, "conditional.%s %s\n", condition_names[i], d->conditions[i]);
    }
}

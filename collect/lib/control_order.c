#include "collect/lib/control_order.h"

#include <string.h>

#include "base/setting.h"
#include "base/text.h"
#include "collect/lib/profiling_settings.h"

enum { MAX_HZ = 1000, MAX_CAPTURE_S = 3600 };

static bool take_id(sf_str text, char out[SF_CONTROL_VERSION_CAP])
{
    if (text.len != SF_CONTROL_VERSION_CAP - 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (sf_hex_digit(text.p[i]) < 0)
            return false;
    }
    memcpy(out, text.p, text.len);
    out[text.len] = 0;
    return true;
}

static bool control_order_take_number(sf_str text, uint64_t least, uint64_t most, uint64_t *out)
{
    return sf_str_to_u64(text, out) && *out >= least && *out <= most;
}

/* "0123456789abcdef cpu,wall 1000 30" */
static bool take_capture(sf_str text, struct sf_control_order *d)
{
    sf_str id, types, rate;
    char words[64];
    if (!sf_str_split_next(&text, ' ', &id) || !sf_str_split_next(&text, ' ', &types) ||
        !sf_str_split_next(&text, ' ', &rate) || types.len >= sizeof(words))
        return false;
    memcpy(words, types.p, types.len);
    words[types.len] = 0;
    return take_id(id, d->capture) && sf_profiling_settings_words_parse(words, &d->capture_kinds) &&
           d->capture_kinds && control_order_take_number(rate, 1, MAX_HZ, &d->capture_hz) &&
           control_order_take_number(text, 1, MAX_CAPTURE_S, &d->capture_s);
}

/* "conditional.share 10%": a key of the configuration. */
static bool take_condition(sf_str name, sf_str val, struct sf_control_order *d)
{
    for (size_t i = 0; i < sf_profiling_n_keys && i < 64; i++) {
        sf_str path = sf_str_from(sf_profiling_keys[i].path);
        if (!sf_str_eq(sf_str_from_at(path, SF_STR("profiling.").len), name))
            continue;
        d->has_conditions |= (uint64_t)1 << i;
        return !sf_profiling_keys_set(&d->conditions, &sf_profiling_keys[i], val, NULL);
    }
    return true; /* sent by a newer server: ignored */
}

static bool control_order_take_line(sf_str name, sf_str val, struct sf_control_order *d)
{
    uint64_t until;
    bool is_on;
    if (sf_str_eq(name, SF_STR("version")))
        return take_id(val, d->version);
    if (sf_str_eq(name, SF_STR("enabled"))) {
        if (!sf_setting_flag_parse(val, &is_on))
            return false;
        d->is_off = !is_on;
    } else if (sf_str_eq(name, SF_STR("rate.cpu"))) {
        return control_order_take_number(val, 1, MAX_HZ, &d->cpu_hz);
    } else if (sf_str_eq(name, SF_STR("rate.wall"))) {
        return control_order_take_number(val, 1, MAX_HZ, &d->wall_hz);
    } else if (sf_str_eq(name, SF_STR("rate.until"))) {
        if (!control_order_take_number(val, 1, INT64_MAX / 1000000, &until))
            return false;
        d->rates_until_ms = (int64_t)until;
    } else if (sf_str_eq(name, SF_STR("budget"))) {
        d->has_budget = sf_setting_percent_parse(val, &d->budget_per_10000);
        return d->has_budget;
    } else if (sf_str_starts(name, SF_STR("conditional."))) {
        return take_condition(name, val, d);
    } else if (sf_str_eq(name, SF_STR("capture"))) {
        return take_capture(val, d);
    }
    return true;
}

bool sf_control_order_parse(sf_str text, struct sf_control_order *out)
{
    struct sf_control_order d = {0};
    sf_str line, name;
    while (sf_str_split_next(&text, '\n', &line)) {
        if (!line.len)
            continue;
        if (!sf_str_split_next(&line, ' ', &name) || !control_order_take_line(name, line, &d))
            return false;
    }
    if (!d.version[0])
        return false;
    *out = d;
    return true;
}

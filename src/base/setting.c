#include "base/setting.h"

#include <string.h>

#include "base/time_unit.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit time_units[] = {
    {"ns", 1},
    {"us", SF_NS_PER_US},
    {"\xc2\xb5s", SF_NS_PER_US}, /* the micro sign */
    {"\xce\xbcs", SF_NS_PER_US}, /* the Greek letter */
    {"ms", SF_NS_PER_MS},
    {"s", SF_NS_PER_S},
    {"m", SF_NS_PER_MIN},
    {"h", SF_NS_PER_HOUR},
    {"d", SF_NS_PER_DAY},
    {"w", 7 * SF_NS_PER_DAY},
    {"y", 365 * SF_NS_PER_DAY},
};
enum { N_TIME_UNITS = sizeof(time_units) / sizeof(time_units[0]), N_YEARS = 2 };

static const struct unit size_units[] = {
    {"b", 1},
    {"k", 1000},
    {"kb", 1000},
    {"kib", 1024},
    {"m", 1000000},
    {"mb", 1000000},
    {"mib", 1ull << 20},
    {"g", 1000000000},
    {"gb", 1000000000},
    {"gib", 1ull << 30},
    {"t", 1000000000000},
    {"tb", 1000000000000},
    {"tib", 1ull << 40},
    {"pb", 1000000000000000},
    {"pib", 1ull << 50},
};

/* Digits with at most one point. The value is whole + part / scale. */
struct quantity {
    uint64_t whole, part, scale;
    bool has_point;
};

static bool setting_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads the number at the start of *text and moves *text past it. Returns an error message, or
 * NULL. */
static const char *take_quantity(sf_str *text, bool may_end_at_point, struct quantity *out)
{
    const uint64_t max_scale = 1000000000000000000; /* further digits are below a nanosecond */
    size_t at = 0, n_digits = 0;

    *out = (struct quantity){.scale = 1};
    for (; at < text->len && (setting_is_digit(text->p[at]) || text->p[at] == '.'); at++) {
        uint64_t digit = (uint64_t)(text->p[at] - '0');
        if (text->p[at] == '.') {
            if (out->has_point || (!n_digits && !may_end_at_point))
                return "a number has digits around one point";
            out->has_point = true;
            continue;
        }
        n_digits++;
        if (!out->has_point) {
            if (__builtin_mul_overflow(out->whole, 10u, &out->whole) ||
                __builtin_add_overflow(out->whole, digit, &out->whole))
                return "the number is too large";
        } else if (out->scale < max_scale) {
            out->part = out->part * 10 + digit;
            out->scale *= 10;
        }
    }
    if (n_digits == 0)
        return at ? "a number has digits around one point" : "it does not begin with a number";
    if (text->p[at - 1] == '.' && !may_end_at_point)
        return "a number has digits around one point";
    *text = sf_str_from_at(*text, at);
    return NULL;
}

static bool setting_multiply(struct quantity q, uint64_t factor, uint64_t *out)
{
    uint64_t whole;
    unsigned __int128 part = (unsigned __int128)factor * q.part / q.scale; /* smaller than the
                                                                            * factor */
    return !__builtin_mul_overflow(q.whole, factor, &whole) &&
           !__builtin_add_overflow(whole, (uint64_t)part, out);
}

static enum sf_err no_unit(sf_str name, const char *known, struct sf_why *why)
{
    if (name.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "a number has no unit (%s)", known);
    return sf_fail(why, SF_ERR_INPUT, "\"%.*s\" is not a unit (%s)",
                   SF_STR_ARG(sf_str_part(name, 0, 20)), known);
}

static sf_str take_unit(sf_str *text, bool may_begin_blank)
{
    size_t at = 0;
    sf_str name;
    while (at < text->len && text->p[at] != '.' && !setting_is_digit(text->p[at]))
        at++;
    name = sf_str_part(*text, 0, at);
    *text = sf_str_from_at(*text, at);
    return may_begin_blank ? sf_str_trim(name) : name;
}

enum sf_err sf_setting_duration_parse(sf_str text, unsigned form, int64_t *out_ns,
                                      struct sf_why *why)
{
    size_t n_units = form & SF_DURATION_YEARS ? N_TIME_UNITS : N_TIME_UNITS - N_YEARS;
    uint64_t sum = 0;

    if (sf_str_eq(text, SF_STR("0"))) {
        *out_ns = 0;
        return SF_OK;
    }
    if (text.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "nothing is given");
    while (text.len) {
        struct quantity q;
        const char *wrong = take_quantity(&text, form & SF_DURATION_POINTS, &q);
        const struct unit *unit = NULL;
        uint64_t ns;
        sf_str name;
        if (wrong)
            return sf_fail(why, SF_ERR_INPUT, "%s", wrong);
        name = take_unit(&text, form & SF_DURATION_BLANKS);
        for (size_t i = 0; i < n_units; i++) {
            if (sf_str_eq(name, sf_str_from(time_units[i].name)))
                unit = &time_units[i];
        }
        if (!unit)
            return no_unit(name,
                           form & SF_DURATION_YEARS ? "ns, us, ms, s, m, h, d, w, y"
                                                    : "ns, us, ms, s, m, h, d",
                           why);
        if (!setting_multiply(q, unit->factor, &ns) || __builtin_add_overflow(sum, ns, &sum) ||
            sum > INT64_MAX)
            return sf_fail(why, SF_ERR_INPUT, "it is longer than 292 years");
    }
    *out_ns = (int64_t)sum;
    return SF_OK;
}

enum sf_err sf_setting_size_parse(sf_str text, uint64_t *out_len, struct sf_why *why)
{
    struct quantity q;
    const char *wrong = take_quantity(&text, false, &q);

    if (wrong)
        return sf_fail(why, SF_ERR_INPUT, "%s", wrong);
    text = sf_str_trim(text); /* users also write "512 KB" */
    if (text.len == 0) {
        if (q.has_point)
            return sf_fail(why, SF_ERR_INPUT, "a part of a byte is not a size");
        *out_len = q.whole;
        return SF_OK;
    }
    for (size_t i = 0; i < sizeof(size_units) / sizeof(size_units[0]); i++) {
        uint64_t len;
        if (!sf_str_ieq(text, sf_str_from(size_units[i].name)))
            continue;
        if (!setting_multiply(q, size_units[i].factor, &len))
            return sf_fail(why, SF_ERR_INPUT, "it is more than 64 bits can count");
        *out_len = len;
        return SF_OK;
    }
    return no_unit(text, "B, KB, KiB, MB, MiB, GB, GiB, ...", why);
}

bool sf_setting_flag_parse(sf_str text, bool *out)
{
    static const char *const words[][2] = {
        {"true", "false"}, {"yes", "no"}, {"on", "off"}, {"1", "0"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        bool is_yes = sf_str_ieq(text, sf_str_from(words[i][0]));
        if (is_yes || sf_str_ieq(text, sf_str_from(words[i][1]))) {
            *out = is_yes;
            return true;
        }
    }
    return false;
}

bool sf_setting_percent_parse(sf_str text, uint32_t *out_per_10000)
{
    struct quantity q;
    uint64_t value;
    if (text.len && text.p[text.len - 1] == '%')
        text = sf_str_trim(sf_str_part(text, 0, text.len - 1));
    if (take_quantity(&text, true, &q) || text.len || !setting_multiply(q, 1000, &value) ||
        value > 100000)
        return false;
    *out_per_10000 = (uint32_t)((value + 5) / 10);
    return true;
}

enum sf_err sf_setting_parse(enum sf_setting_kind kind, sf_str text, uint64_t *out,
                             struct sf_why *why)
{
    uint32_t percent;
    int64_t ns;
    bool flag;
    enum sf_err err;
    text = sf_str_trim(text);
    switch (kind) {
    case SF_SETTING_SIZE: return sf_setting_size_parse(text, out, why);
    case SF_SETTING_DURATION:
        err = sf_setting_duration_parse(text, SF_DURATION_BLANKS, &ns, why);
        if (!err)
            *out = (uint64_t)ns;
        return err;
    case SF_SETTING_RATE:
        if (text.len > 2 && sf_str_ieq(sf_str_from_at(text, text.len - 2), SF_STR("Hz")))
            text = sf_str_trim(sf_str_part(text, 0, text.len - 2));
        if (sf_str_to_u64(text, out))
            return SF_OK;
        break;
    case SF_SETTING_COUNT:
        if (sf_str_to_u64(text, out))
            return SF_OK;
        break;
    case SF_SETTING_BOOL:
        if (!sf_setting_flag_parse(text, &flag))
            break;
        *out = flag;
        return SF_OK;
    case SF_SETTING_PERCENT:
        if (!sf_setting_percent_parse(text, &percent))
            break;
        *out = percent;
        return SF_OK;
    }
    return SF_ERR_INPUT;
}

void sf_setting_put(enum sf_setting_kind kind, void *field, uint64_t value)
{
    uint32_t percent = (uint32_t)value;
    if (kind == SF_SETTING_BOOL)
        *(bool *)field = value;
    else if (kind == SF_SETTING_PERCENT)
        memcpy(field, &percent, sizeof(percent));
    else
        memcpy(field, &value, sizeof(value)); /* a duration is an int64_t with the same bits */
}

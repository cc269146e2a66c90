#include "wire/time_text.h"

#include <time.h>

#include "base/num.h"
#include "base/setting.h"
#include "base/time_unit.h"

/* A unix time in any unit, by its magnitude: seconds have 10 digits until 2286, milliseconds 13. */
static bool scale_unix(uint64_t v, int64_t *out_ns)
{
    uint64_t ns;
    if (v < 100000000000u)
        ns = v * (uint64_t)SF_NS_PER_S;
    else if (v < 100000000000000u)
        ns = v * 1000000u;
    else if (v < 100000000000000000u)
        ns = v * 1000u;
    else
        ns = v;
    if (ns > INT64_MAX)
        return false;
    *out_ns = (int64_t)ns;
    return true;
}

static bool time_text_digits(sf_str text, size_t at, size_t n, int *out)
{
    uint64_t v;
    if (at + n > text.len || !sf_str_to_u64(sf_str_part(text, at, n), &v))
        return false;
    *out = (int)v;
    return true;
}

/* 2026-01-02T03:04:05[.678](Z|+01:00) */
static bool parse_rfc3339(sf_str t, int64_t *out_ns)
{
    struct tm tm = {0};
    int year, month, zone_h = 0, zone_m = 0;
    int64_t frac_ns = 0;
    if (t.len < 20 || t.p[4] != '-' || t.p[7] != '-' || (t.p[10] != 'T' && t.p[10] != 't') ||
        t.p[13] != ':' || t.p[16] != ':' || !time_text_digits(t, 0, 4, &year) ||
        !time_text_digits(t, 5, 2, &month) || !time_text_digits(t, 8, 2, &tm.tm_mday) ||
        !time_text_digits(t, 11, 2, &tm.tm_hour) || !time_text_digits(t, 14, 2, &tm.tm_min) ||
        !time_text_digits(t, 17, 2, &tm.tm_sec))
        return false;
    if (year < 1970 || year > 2261 || month < 1 || month > 12 || tm.tm_mday < 1 ||
        tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    size_t at = 19;
    if (t.p[at] == '.') {
        int64_t unit = SF_NS_PER_S / 10;
        for (at++; at < t.len && t.p[at] >= '0' && t.p[at] <= '9'; at++, unit /= 10)
            frac_ns += (t.p[at] - '0') * unit;
    }
    sf_str zone = sf_str_from_at(t, at);
    int64_t zone_s = 0;
    if (zone.len == 6 && (zone.p[0] == '+' || zone.p[0] == '-') && zone.p[3] == ':' &&
        time_text_digits(zone, 1, 2, &zone_h) && time_text_digits(zone, 4, 2, &zone_m))
        zone_s = (zone.p[0] == '-' ? -1 : 1) * (zone_h * 3600LL + zone_m * 60LL);
    else if (!sf_str_ieq(zone, SF_STR("z")))
        return false;
    *out_ns = ((int64_t)timegm(&tm) - zone_s) * SF_NS_PER_S + frac_ns;
    return true;
}

bool sf_time_text_parse(sf_str text, int64_t now_ns, int64_t *out_ns)
{
    uint64_t whole;
    double frac;
    int64_t ago_ns;
    if (sf_str_eq(text, SF_STR("now"))) {
        *out_ns = now_ns;
        return true;
    }
    if (sf_str_starts(text, SF_STR("now-"))) {
        if (sf_setting_duration_parse(sf_str_from_at(text, 4), SF_DURATION_PLAIN, &ago_ns, NULL))
            return false;
        *out_ns = now_ns > ago_ns ? now_ns - ago_ns : 0;
        return true;
    }
    if (sf_str_to_u64(text, &whole))
        return scale_unix(whole, out_ns);
    if (sf_str_to_f64(text, &frac)) {
        if (frac < 0 || frac >= 9e9)
            return false;
        *out_ns = (int64_t)(frac * 1e9);
        return true;
    }
    return parse_rfc3339(text, out_ns);
}

void sf_time_text_add(struct sf_buf *out, uint64_t unix_ns)
{
    time_t s = (time_t)(unix_ns / (uint64_t)SF_NS_PER_S);
    struct tm tm = {0};
    gmtime_r(&s, &tm); /* 64 bits of nanoseconds end in 2554, so the conversion cannot fail */
    sf_buf_print(out, "%04d-%02d-%02d %02d:%02d:%02d.%03u", tm.tm_year + 1900, tm.tm_mon + 1,
                 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                 (unsigned)(unix_ns / SF_NS_PER_MS % 1000));
}

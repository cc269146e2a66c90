#include "render/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time_unit.h"

/* Three significant digits, without trailing zeros: 1.25, 12.5, 125. */
static void add_scaled(struct sf_buf *out, double v, const char *unit)
{
    int digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
    char text[32];
    int len = snprintf(text, sizeof(text), "%.*f", digits, v);
    if (digits) {
        while (len > 0 && text[len - 1] == '0')
            len--;
        if (len > 0 && text[len - 1] == '.')
            len--;
    }
    sf_buf_print(out, "%.*s%s%s", len, text, *unit ? " " : "", unit);
}

void sf_units_duration(struct sf_buf *out, uint64_t ns)
{
    uint64_t s = ns / SF_NS_PER_S;
    if (ns < 1000)
        sf_buf_print(out, "%" PRIu64 " ns", ns);
    else if (ns < 999500)
        add_scaled(out, (double)ns / 1e3, "us");
    else if (ns < 999500000)
        add_scaled(out, (double)ns / 1e6, "ms");
    else if (s < 60)
        add_scaled(out, (double)ns / 1e9, "s");
    else if (s < 3600)
        sf_buf_print(out, "%" PRIu64 " m %02" PRIu64 " s", s / 60, s % 60);
    else if (s < 86400)
        sf_buf_print(out, "%" PRIu64 " h %02" PRIu64 " m", s / 3600, s / 60 % 60);
    else
        sf_buf_print(out, "%" PRIu64 " d %02" PRIu64 " h", s / 86400, s / 3600 % 24);
}

static void units_add_steps(struct sf_buf *out, double v, const char *const *units, size_t n_units)
{
    size_t i = 0;
    while (v >= 999.5 && i + 1 < n_units) {
        v /= 1000;
        i++;
    }
    add_scaled(out, v, units[i]);
}

void sf_units_bytes(struct sf_buf *out, uint64_t len)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    units_add_steps(out, (double)len, units, 7);
}

void sf_units_count(struct sf_buf *out, uint64_t n)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    units_add_steps(out, (double)n, units, 7);
}

void sf_units_rate(struct sf_buf *out, double per_second)
{
    static const char *const units[] = {"", "k", "M", "G"};
    bool is_slow = per_second > 0 && per_second < 0.1; /* two decimals would show 0 */
    bool is_slower = is_slow && per_second * 60 < 0.1;
    units_add_steps(out, per_second * (is_slower ? 3600 : is_slow ? 60 : 1), units, 4);
    sf_buf_add_str(out, is_slower ? SF_STR("/h") : is_slow ? SF_STR("/min") : SF_STR("/s"));
}

void sf_units_percent(struct sf_buf *out, double share)
{
    double percent = share * 100, size = fabs(percent);
    if (percent < 0 && size < 0.05)
        percent = size = 0; /* not "-0 %" */
    sf_buf_print(out, "%.*f %%", size > 0 && size < 9.95 ? 1 : 0, percent);
}

static uint64_t units_multiply(uint64_t v, uint64_t by)
{
    uint64_t product;
    return __builtin_mul_overflow(v, by, &product) ? UINT64_MAX : product;
}

void sf_units_amount(struct sf_buf *out, int64_t value, sf_str unit)
{
    static const struct {
        sf_str name;
        uint64_t ns;
    } times[] = {{{"nanoseconds", 11}, 1},
                 {{"ns", 2}, 1},
                 {{"microseconds", 12}, 1000},
                 {{"us", 2}, 1000},
                 {{"milliseconds", 12}, SF_NS_PER_MS},
                 {{"ms", 2}, SF_NS_PER_MS},
                 {{"seconds", 7}, SF_NS_PER_S},
                 {{"s", 1}, SF_NS_PER_S}};
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    if (value == 0) {
        sf_buf_add_u8(out, '0'); /* 0 in any unit */
        return;
    }
    if (value < 0)
        sf_buf_add_u8(out, '-');
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (sf_str_eq(unit, times[i].name)) {
            sf_units_duration(out, units_multiply(size, times[i].ns));
            return;
        }
    }
    if (sf_str_eq(unit, SF_STR("bytes")))
        sf_units_bytes(out, size);
    else
        sf_units_count(out, size);
}

void sf_units_plain(struct sf_buf *out, sf_str text)
{
    while (text.len) {
        uint32_t code = '?';
        size_t len = sf_utf8_char_len(text, &code);
        if (len == 0 || sf_text_is_unseen(code))
            sf_buf_add_u8(out, '?');
        else
            sf_buf_add_str(out, sf_str_part(text, 0, len));
        text = sf_str_from_at(text, len ? len : 1);
    }
}

void sf_units_end_line(struct sf_buf *out, size_t from)
{
    struct sf_buf line = {0};
    sf_buf_add_str(&line, sf_str_from_at(sf_buf_str(out), from));
    if (!out->err)
        out->err = line.err;
    if (!out->err)
        out->len = from;
    sf_units_plain(out, sf_buf_str(&line));
    sf_buf_add_u8(out, '\n');
    sf_buf_done(&line);
}

size_t sf_units_text(struct sf_buf *out, sf_str text, size_t columns)
{
    static const sf_str ellipsis = {"\xe2\x80\xa6", 3};
    size_t width = 0;
    size_t room = sf_utf8_width(text) <= columns ? columns : columns ? columns - 1 : 0;

    /* Unsafe characters have no width until they become '?', so `room` is checked at each step. */
    while (text.len) {
        uint32_t code = '?';
        size_t len = sf_utf8_char_len(text, &code);
        sf_str shown = {text.p, len};
        size_t shown_width;
        if (len == 0 || sf_text_is_unseen(code)) {
            shown = SF_STR("?");
            len = len ? len : 1;
        }
        shown_width = sf_utf8_width(shown);
        if (width + shown_width > room) {
            if (width < columns) {
                sf_buf_add_str(out, ellipsis);
                width++;
            }
            return width;
        }
        sf_buf_add_str(out, shown);
        width += shown_width;
        text = sf_str_from_at(text, len);
    }
    return width;
}

size_t sf_units_prose(struct sf_buf *out, sf_str text, size_t at, size_t indent)
{
    enum { COLUMNS = 78 };
    size_t column = at;
    while (text.len) {
        const char *blank = memchr(text.p, ' ', text.len);
        sf_str word = {text.p, blank ? (size_t)(blank - text.p) : text.len};
        size_t width = sf_utf8_width(word);
        if (column > at && column + 1 + width > COLUMNS) {
            sf_buf_add_u8(out, '\n');
            sf_units_pad(out, indent);
            column = at = indent;
        } else if (column > at) {
            sf_buf_add_u8(out, ' ');
            column++;
        }
        column += sf_units_text(out, word, SIZE_MAX);
        text = sf_str_from_at(text, word.len + (blank != NULL));
    }
    return column;
}

void sf_units_pad(struct sf_buf *out, size_t columns)
{
    while (columns--)
        sf_buf_add_u8(out, ' ');
}

bool sf_units_is_count_of(int64_t value, sf_str unit, double n_samples)
{
    return sf_str_eq(unit, SF_STR("count")) && (double)value == n_samples;
}

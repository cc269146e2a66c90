/* Folded text: a stack per line, root first, and after the last blank a count. "Lines" is the same
 * without the count: each line is one sample.
 *
 * Frames may contain blanks, so the count is after the last one; it may have a fraction. Lines end
 * with LF or CRLF and may be very long. An unusable line is counted and the rest is read. Windows
 * shells write UTF-16, which is converted first. */
#include <math.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "decode/text/stack_text.h"

static uint32_t unit_at(const unsigned char *p, bool is_big)
{
    return is_big ? (uint32_t)(p[0] << 8 | p[1]) : (uint32_t)(p[1] << 8 | p[0]);
}

/* UTF-16 to UTF-8; unpaired surrogates become U+FFFD. */
static sf_str from_utf16(struct sf_profile_build *b, sf_str text, bool is_big)
{
    const unsigned char *p = (const unsigned char *)text.p;
    char *to = sf_profile_new(b, text.len / 2 + 1, 3);
    size_t len = 0;
    for (size_t i = 0; to && i + 1 < text.len; i += 2) {
        uint32_t code = unit_at(p + i, is_big), low;
        if (code < 0x80) {
            to[len++] = (char)code;
            continue;
        }
        if (code >= 0xd800 && code < 0xdc00 && i + 3 < text.len) {
            low = unit_at(p + i + 2, is_big);
            if (low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            }
        }
        len += sf_utf8_put(to + len, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
    }
    return (sf_str){to, len};
}

static sf_str plain_text(struct sf_profile_build *b, sf_str bytes)
{
    if (sf_str_starts(bytes, SF_STR("\xff\xfe")))
        return from_utf16(b, sf_str_from_at(bytes, 2), false);
    if (sf_str_starts(bytes, SF_STR("\xfe\xff")))
        return from_utf16(b, sf_str_from_at(bytes, 2), true);
    return sf_str_starts(bytes, SF_STR("\xef\xbb\xbf")) ? sf_str_from_at(bytes, 3) : bytes;
}

/* Splits off the count. False: there is none. */
static bool split_count(sf_str line, sf_str *stack, sf_str *count)
{
    size_t at = line.len;
    while (at && line.p[at - 1] != ' ' && line.p[at - 1] != '\t')
        at--;
    *count = sf_str_from_at(line, at);
    *stack = sf_str_trim((sf_str){line.p, at});
    if (!at || !stack->len || !count->len || count->p[0] < '0' || count->p[0] > '9')
        return false;
    for (size_t i = 0; i < count->len; i++) {
        if ((count->p[i] < '0' || count->p[i] > '9') && count->p[i] != '.')
            return false;
    }
    return true;
}

static bool add_folded(struct sf_stack_text *t, sf_str line)
{
    sf_str stack, text;
    int64_t count;
    double exact;
    if (!split_count(line, &stack, &text))
        return false;
    if (sf_str_to_i64(text, &count)) {
        sf_stack_text_add(t, stack, count);
        return true;
    }
    if (!sf_str_find_char(text, '.', &(size_t){0}) || !sf_str_to_f64(text, &exact) ||
        exact > 9e15 / (double)t->factor)
        return false;
    sf_stack_text_add_value(t, stack, llround(exact * (double)t->factor));
    return true;
}

static enum sf_err decode_text(struct sf_profile_build *b, sf_str bytes, bool has_counts)
{
    struct sf_stack_text t;
    sf_str rest = plain_text(b, bytes), line;
    enum sf_err err = sf_stack_text_init(&t, b);
    uint64_t n = 0;

    while (!err && sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        n++;
        line = sf_str_trim(line);
        if (!line.len)
            continue;
        if (line.len > SF_LIMIT_LINE_LEN)
            sf_profile_build_drop(b, &b->drops.n_parts, "folded: line %llu has %zu bytes",
                                  (unsigned long long)n, line.len);
        else if (!has_counts)
            sf_stack_text_add(&t, line, 1);
        else if (!add_folded(&t, line))
            sf_profile_build_drop(b, &b->drops.n_parts, "folded: line %llu has no usable count",
                                  (unsigned long long)n);
    }
    return err;
}

static enum sf_err decode_folded(struct sf_profile_build *b, sf_str bytes)
{
    return decode_text(b, bytes, true);
}

static enum sf_err decode_lines(struct sf_profile_build *b, sf_str bytes)
{
    return decode_text(b, bytes, false);
}

/* Text of which at least half of the first lines end in a count. */
static bool is_folded(sf_str bytes)
{
    sf_str rest, line, stack, count;
    size_t n_good = 0, n_bad = 0, n_control = 0, at;
    if (sf_str_starts(bytes, SF_STR("\xff\xfe")) || sf_str_starts(bytes, SF_STR("\xfe\xff")))
        return true;
    rest = sf_str_part(bytes, 0, SF_LIMIT_LINE_LEN);
    for (size_t i = 0; i < rest.len && i < 4096; i++)
        n_control += (unsigned char)rest.p[i] < ' ' && rest.p[i] != '\n' && rest.p[i] != '\r' &&
                     rest.p[i] != '\t';
    if (n_control > 1 + rest.len / 100 || sf_str_starts(rest, SF_STR("{")) ||
        sf_str_starts(rest, SF_STR("heap profile:")) || sf_str_starts(rest, SF_STR("--- ")))
        return false;
    if (rest.len < bytes.len && !sf_str_find_char(rest, '\n', &at)) { /* one very deep stack */
        rest = bytes;
        return sf_str_split_next(&rest, '\n', &line) &&
               split_count(sf_str_trim(line), &stack, &count);
    }
    while (n_good + n_bad < 100 && sf_str_split_next(&rest, '\n', &line)) {
        line = sf_str_trim(line);
        if (!line.len)
            continue;
        if (split_count(line, &stack, &count))
            n_good++;
        else
            n_bad++;
    }
    return n_good && n_good >= n_bad;
}

/* Text without counts, in which nearly all lines contain semicolons but do not end in one (as
 * source code does). */
static bool is_lines(sf_str bytes)
{
    sf_str rest = sf_str_part(bytes, 0, SF_LIMIT_LINE_LEN), line;
    size_t n = 0, n_stacks = 0, at;
    while (n < 200 && sf_str_split_next(&rest, '\n', &line)) {
        line = sf_str_trim(line);
        for (size_t i = 0; i < line.len; i++) {
            if ((unsigned char)line.p[i] < ' ' && line.p[i] != '\t')
                return false;
        }
        if (!line.len)
            continue;
        if (line.p[0] == '{' || line.p[0] == '<' || line.p[0] == '#' || line.p[line.len - 1] == ';')
            return false;
        n++;
        n_stacks += sf_str_find_char(line, ';', &at) && at;
    }
    return n && n_stacks >= n - n / 10;
}

const struct sf_profile_format sf_folded_format = {
    .name = "folded",
    .also = "collapsed,groups",
    .is = is_folded,
    .decode = decode_folded,
};

const struct sf_profile_format sf_lines_format = {
    .name = "lines",
    .also = "",
    .is = is_lines,
    .decode = decode_lines,
};

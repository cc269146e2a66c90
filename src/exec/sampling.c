#include "exec/sampling.h"

#include <math.h>

#include "base/text.h"

enum { THRESHOLD_DIGITS = 14, MAX_POWER = 62 };

/* The value of `key` in "k:v;k:v"; empty if it is missing. */
static sf_str sampling_find_value(sf_str member, sf_str key)
{
    sf_str part;
    size_t at;
    while (sf_str_split_next(&member, ';', &part)) {
        if (sf_str_find_char(part, ':', &at) && sf_str_eq(sf_str_part(part, 0, at), key))
            return sf_str_from_at(part, at + 1);
    }
    return SF_STR_NONE;
}

static double weight_of_threshold(sf_str digits)
{
    const uint64_t all = (uint64_t)1 << (4 * THRESHOLD_DIGITS);
    uint64_t threshold = 0;
    if (digits.len > THRESHOLD_DIGITS)
        return 1;
    for (size_t i = 0; i < THRESHOLD_DIGITS; i++) {
        int digit = i < digits.len ? sf_hex_digit(digits.p[i]) : 0;
        if (digit < 0)
            return 1;
        threshold = threshold << 4 | (uint64_t)digit;
    }
    /* A threshold of 14 digits is always less than `all`. */
    return (double)all / (double)(all - threshold);
}

double sf_sampling_weight(sf_str trace_state)
{
    sf_str member, digits;
    uint64_t power;
    while (sf_str_split_next(&trace_state, ',', &member)) {
        member = sf_str_trim(member);
        if (!sf_str_starts(member, SF_STR("ot=")))
            continue;
        member = sf_str_from_at(member, 3);
        digits = sampling_find_value(member, SF_STR("th"));
        if (digits.len)
            return weight_of_threshold(digits);
        digits = sampling_find_value(member, SF_STR("p"));
        if (digits.len && sf_str_to_u64(digits, &power) && power <= MAX_POWER)
            return ldexp(1, (int)power);
        return 1;
    }
    return 1;
}

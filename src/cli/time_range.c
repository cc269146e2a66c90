#include "cli/time_range.h"

#include "base/time_unit.h"
#include "wire/time_text.h"

const char *sf_time_range_read(const struct sf_time_range *range, int64_t now_ns,
                               int64_t *out_from_ns, int64_t *out_until_ns)
{
    int64_t from_ns = now_ns - (range->since_ns ? range->since_ns : SF_NS_PER_HOUR),
            until_ns = now_ns;
    if ((range->from || range->until) && range->since_ns)
        return "give --since, or --from and --until, not both";
    if (range->until && !range->from)
        return "--until needs --from";
    if (range->until && !sf_time_text_parse(sf_str_from(range->until), now_ns, &until_ns))
        return "--until is not a time; use unix seconds, RFC 3339, now or now-15m";
    if (range->from && !sf_time_text_parse(sf_str_from(range->from), now_ns, &from_ns))
        return "--from is not a time; use unix seconds, RFC 3339, now or now-15m";
    if (from_ns >= until_ns)
        return "--from must be before --until";
    *out_from_ns = from_ns > 0 ? from_ns : 0;
    *out_until_ns = until_ns;
    return NULL;
}

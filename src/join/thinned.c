#include "join/thinned.h"

#include "base/buf.h"
#include "base/time_unit.h"
#include "wire/time_text.h"

bool sf_thinned_say(const struct sf_keep_state *s, struct sf_arena *req, sf_str *out)
{
    struct sf_buf hour = {0};
    bool is_said;
    sf_time_text_add(&hour, (uint64_t)(s->hour * SF_NS_PER_HOUR));
    is_said =
        sf_buf_ok(&hour) &&
        sf_arena_print(
            req, out,
            "thinned: the samples of this request were removed after its hour "
            "(%.*s UTC, rule set %u): no rule kept it, and it is not in the "
            "baseline of %g %%. The totals of its service have them; see spanflame keep --trace",
            SF_STR_ARG(sf_str_part(sf_buf_str(&hour), 0, 16)), s->version,
            s->baseline_per_10000 / 100.0);
    sf_buf_done(&hour);
    return is_said;
}

#include "serve/own/split.h"

enum sf_err sf_split_read(sf_str text, double *out, struct sf_why *why)
{
    double percent;
    if (text.len < 2 || text.p[0] != 'p' || !sf_str_to_f64(sf_str_from_at(text, 1), &percent) ||
        !(percent > 0 && percent < 100))
        return sf_fail(why, SF_ERR_INPUT, "split is errors, or a quantile such as p95, not '%.*s'",
                       SF_STR_ARG(sf_str_part(text, 0, 20)));
    *out = percent / 100;
    return SF_OK;
}

#include "collect/lib/sampler.h"

#define ALL ((uint64_t)1 << 56)

bool sf_sampler_parse(sf_str name, sf_str arg, struct sf_sampler *out)
{
    struct sf_sampler s = {0};
    double ratio = 1;

    if (sf_str_starts(name, SF_STR("parentbased_"))) {
        s.is_parent_based = true;
        name = sf_str_from_at(name, SF_STR("parentbased_").len);
    }
    if (sf_str_eq(name, SF_STR("always_off"))) {
        s.threshold = ALL;
    } else if (sf_str_eq(name, SF_STR("traceidratio"))) {
        if (arg.len && (!sf_str_to_f64(arg, &ratio) || ratio < 0 || ratio > 1))
            return false;
        s.threshold = ALL - (uint64_t)(ratio * (double)ALL);
    } else if (!sf_str_eq(name, SF_STR("always_on"))) {
        return false;
    }
    *out = s;
    return true;
}

#include "join/sample_count.h"

#include "link/trust.h"

bool sf_sample_count_is_known(const struct sf_profile_type *type, int64_t period)
{
    return period > 0 && sf_str_eq(type->period_unit, type->sample_unit) &&
           sf_str_eq(type->period_type, type->sample_type);
}

double sf_sample_count(const struct sf_profile_type *type, int64_t period, int64_t value,
                       uint64_t n_samples)
{
    double taken = sf_sample_count_is_known(type, period) ? (double)value / (double)period : 0;
    return taken > (double)n_samples ? taken : (double)n_samples;
}

bool sf_sample_count_is_few(const struct sf_profile_type *type, int64_t period, double taken)
{
    return taken < SF_TRUST_FEW && sf_sample_count_is_known(type, period) &&
           (sf_str_eq(type->sample_type, SF_STR("cpu")) ||
            sf_str_eq(type->sample_type, SF_STR("wall")));
}

#include "base/profiling_keys.h"

#include "base/invariant.h"

#define KEY(path, kind, field, initial, min, max, doc) \
    {"profiling." path, SF_SETTING_##kind, offsetof(struct sf_profiling, field), initial, min, max},
const struct sf_profiling_key sf_profiling_keys[] = {SF_PROFILING_KEYS(KEY)};
#undef KEY

const size_t sf_profiling_n_keys = sizeof(sf_profiling_keys) / sizeof(sf_profiling_keys[0]);

enum sf_err sf_profiling_keys_set(struct sf_profiling *to, const struct sf_profiling_key *key,
                                  sf_str text, struct sf_why *why)
{
    uint64_t value;
    enum sf_err err = sf_setting_parse(key->kind, text, &value, why);
    if (err)
        return err;
    if (value < key->min || (key->max && value > key->max))
        return sf_fail(why, SF_ERR_INPUT, "it is out of bounds");
    sf_setting_put(key->kind, (uint8_t *)to + key->offset, value);
    return SF_OK;
}

void sf_profiling_keys_init(struct sf_profiling *to)
{
    for (size_t i = 0; i < sf_profiling_n_keys; i++) {
        const struct sf_profiling_key *key = &sf_profiling_keys[i];
        enum sf_err err = sf_profiling_keys_set(to, key, sf_str_from(key->initial), NULL);
        SF_ASSERT(!err);
    }
}

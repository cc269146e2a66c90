/* Limits of tenants from any bytes: refused with a sentence that names the file, or rules whose
 * values are within their bounds. */
#include <stdlib.h>
#include <string.h>

#include "app/overrides.h"

static void check(const struct sf_quota_rules *rules, sf_str tenant, sf_str service)
{
    for (unsigned k = 0; k < SF_QUOTA_KEYS; k++) {
        const struct sf_quota_key_info *info = &sf_quota_key_infos[k];
        uint64_t value = 0;
        if (sf_quota_rules_get(rules, tenant, service, (enum sf_quota_key)k, &value) && value &&
            (value < info->min || value > info->max))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct sf_quota_rules *rules = NULL;
    struct sf_why why = {0};
    sf_str tenant, service;

    if (size)
        memcpy(copy, data, size);
    if (sf_overrides_parse((sf_str){copy, size}, "f", &rules, &why)) {
        if (rules || !sf_str_starts(sf_str_from(why.text), SF_STR("f:")))
            abort();
    } else {
        for (size_t i = 0; i < 64 && sf_quota_rules_tenant(rules, i, &tenant); i++) {
            check(rules, tenant, SF_STR_NONE);
            for (size_t k = 0; k < 64 && sf_quota_rules_service(rules, tenant, k, &service); k++)
                check(rules, tenant, service);
        }
    }
    sf_quota_rules_free(rules);
    free(copy);
    return 0;
}

/* The lists of pins and of rule sets from any bytes: refused, or entries that lie within them, all
 * of which are seen. The first byte chooses the list. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "store/local/keep/pins.h"
#include "store/local/keep/rule_sets.h"

struct seen {
    const uint8_t *from, *to;
    uint64_t n, len;
};

static enum sf_err see_pin(void *arg, const struct sf_pin *pin, struct sf_why *why)
{
    struct seen *s = arg;
    (void)why;
    SF_ASSERT((const uint8_t *)pin->note.p >= s->from &&
              pin->note.len <= (size_t)(s->to - (const uint8_t *)pin->note.p));
    s->n++;
    s->len += 46 + pin->note.len;
    return SF_OK;
}

static enum sf_err see_set(void *arg, const struct sf_rule_set *set, struct sf_why *why)
{
    struct seen *s = arg;
    (void)why;
    SF_ASSERT(set->rules.p >= s->from && set->rules.len <= (size_t)(s->to - set->rules.p));
    s->n++;
    s->len += 16 + set->rules.len;
    return SF_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len = size ? size - 1 : 0;
    uint8_t *copy = malloc(len ? len : 1);
    struct seen s = {copy, copy + len, 0, 4};
    struct sf_why why;
    enum sf_err err;
    SF_ASSERT(copy);
    if (len)
        memcpy(copy, data + 1, len);
    err = size && data[0] & 1 ? sf_rule_sets_decode((sf_bytes){copy, len}, see_set, &s, &why)
                              : sf_pins_decode((sf_bytes){copy, len}, see_pin, &s, &why);
    SF_ASSERT(err == SF_OK || err == SF_ERR_CORRUPT);
    SF_ASSERT(err || (s.n == sf_load_u32le(copy) && s.len == len));
    free(copy);
    return 0;
}

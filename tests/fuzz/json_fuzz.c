/* What skips as JSON also reads as JSON; written out it is JSON again, and the same from then on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "wire/json.h"
#include "wire/json_write.h"

static void copy_value(struct sf_json *j, struct sf_json_writer *w)
{
    sf_str key;
    switch (sf_json_peek(j)) {
    case SF_JSON_OBJECT:
        sf_json_object(j);
        sf_json_write_object(w);
        while (sf_json_key(j, &key)) {
            sf_json_write_key(w, key);
            copy_value(j, w);
        }
        sf_json_write_object_end(w);
        break;
    case SF_JSON_ARRAY:
        sf_json_array(j);
        sf_json_write_array(w);
        while (sf_json_item(j))
            copy_value(j, w);
        sf_json_write_array_end(w);
        break;
    case SF_JSON_STRING: sf_json_write_str(w, sf_json_str(j)); break;
    case SF_JSON_BOOL: sf_json_write_bool(w, sf_json_bool(j)); break;
    case SF_JSON_NUMBER: sf_json_write_f64(w, sf_json_f64(j)); break;
    default:
        sf_json_skip(j);
        sf_json_write_null(w);
        break;
    }
}

static bool rewrite(sf_str text, struct sf_arena *req, struct sf_buf *out)
{
    static struct sf_json j;
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_init(&j, text, req);
    copy_value(&j, &w);
    return sf_json_end(&j);
}

static bool is_json(sf_str text)
{
    static struct sf_json j;
    struct sf_why why;
    sf_json_init(&j, text, NULL);
    sf_json_skip(&j);
    if (sf_json_end(&j))
        return true;
    SF_ASSERT(sf_json_why(&j, "fuzz", &why) == SF_ERR_INPUT && j.fault_off <= text.len);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req;
    struct sf_buf one = {0}, two = {0};
    char *copy = malloc(size ? size : 1);

    if (!req.base)
        SF_ASSERT(sf_arena_init(&req, 1u << 20));
    sf_arena_reset(&req);
    SF_ASSERT(copy);
    if (size)
        memcpy(copy, data, size);
    if (rewrite((sf_str){copy, size}, &req, &one)) {
        SF_ASSERT(is_json((sf_str){copy, size}));
        SF_ASSERT(is_json(sf_buf_str(&one)));
        sf_arena_reset(&req); /* nothing of the first reading is needed any more */
        SF_ASSERT(rewrite(sf_buf_str(&one), &req, &two));
        SF_ASSERT(sf_str_eq(sf_buf_str(&one), sf_buf_str(&two)));
    } else {
        is_json((sf_str){copy, size}); /* may still be: a number too large for a double */
    }
    sf_buf_done(&one);
    sf_buf_done(&two);
    free(copy);
    return 0;
}

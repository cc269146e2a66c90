#include "base/checked_lines.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

void sf_checked_lines_write(const char *head, struct sf_buf *body, struct sf_buf *out)
{
    sf_buf_print(out, "%s%016" PRIx64 "\n", head, sf_hash_str(sf_buf_str(body)));
    sf_buf_add_str(out, sf_buf_str(body));
    if (!sf_buf_ok(body))
        out->err = body->err;
    sf_buf_done(body);
}

enum sf_err sf_checked_lines_read(const char *head, const char *what, sf_str text, sf_str *out,
                                  struct sf_why *why)
{
    sf_str line = SF_STR_NONE;
    char want[64];
    *out = text;
    (void)sf_str_split_next(out, '\n', &line);
    snprintf(want, sizeof(want), "%s%016" PRIx64, head, sf_hash_str(*out));
    return sf_str_eq(line, sf_str_from(want))
               ? SF_OK
               : sf_fail(why, SF_ERR_CORRUPT, "%s: the checksum is wrong", what);
}

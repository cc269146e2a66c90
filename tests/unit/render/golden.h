/* golden.h - compares with a file of tests/golden; SF_GOLDEN_WRITE=1 writes it instead. */
#pragma once
#include <stdlib.h>

#include "base/buf.h"
#include "test.h"

static void assert_golden(const char *name, const struct sf_buf *got)
{
    char path[512];
    static char want[1 << 20];
    const char *source = getenv("SPANFLAME_SOURCE"); /* set by the test runner */
    assert_true(sf_buf_ok(got));
    snprintf(path, sizeof(path), "%s/tests/golden/%s", source ? source : ".", name);
    if (getenv("SF_GOLDEN_WRITE")) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(got->p, 1, got->len, f), got->len);
        fclose(f);
        return;
    }
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("no golden file %s", path);
    size_t n = fread(want, 1, sizeof(want), f);
    fclose(f);
    if (n != got->len || memcmp(want, got->p, n) != 0)
        fail_msg("%s is not what was written:\n%.*s", name, (int)got->len, (const char *)got->p);
}

#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* Messages quote hostile input and are written to logs and headers: keep them on one line without
 * control characters. */
static void tame(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            *text = '?';
    }
}

enum sf_err sf_fail_va(struct sf_why *why, enum sf_err err, const char *format, va_list args)
{
    if (why) {
        vsnprintf(why->text, sizeof(why->text), format, args);
        tame(why->text);
    }
    return err;
}

#undef sf_fail /* below, the function itself is meant */
enum sf_err sf_fail(struct sf_why *why, enum sf_err err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sf_fail_va(why, err, format, args);
    va_end(args);
    return err;
}

void sf_why_prefix(struct sf_why *why, const char *format, ...)
{
    char old[sizeof(why->text)];
    va_list args;
    size_t len;

    if (!why)
        return;
    memcpy(old, why->text, sizeof(old));
    old[sizeof(old) - 1] = 0;
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    len = strlen(why->text);
    snprintf(why->text + len, sizeof(why->text) - len, ": %s", old);
    tame(why->text);
}

const char *sf_err_name(enum sf_err err)
{
    static const char *const names[SF_ERR_N] = {
        "OK",       "INPUT",     "LIMIT", "BUSY",    "FULL",  "DENIED",      "NOT_FOUND",
        "DEADLINE", "CANCELLED", "IO",    "CORRUPT", "NOMEM", "UNSUPPORTED",
    };
    return (unsigned)err < SF_ERR_N ? names[err] : "UNKNOWN";
}

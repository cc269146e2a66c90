#include "serve/kept_text.h"

#include "base/limits.h"
#include "intake/redact.h"

enum { ROOM = 8 * SF_LIMIT_PARAM_LEN }; /* a replacement may be longer than the secret */

enum sf_err sf_kept_text_clean(const struct sf_service *s, struct sf_arena *req, const char *key,
                               sf_str *io, struct sf_why *why)
{
    uint64_t n = 0;
    enum sf_err err;
    if (!s->intake.redactor || io->len == 0)
        return SF_OK;
    if (!req->base && !sf_arena_init(req, ROOM))
        return sf_no_memory(why, "a text");
    err = sf_redact_text(s->intake.redactor, req, key, io, &n, why);
    if (n)
        sf_counters_add(s->counters, SF_COUNT_REDACTIONS, n);
    return err;
}

void sf_kept_text_warn(struct sf_service *s, const char *what, const char *sentence)
{
    struct sf_arena room = {0};
    struct sf_why why;
    sf_str text = sf_str_from(sentence);
    if (sf_kept_text_clean(s, &room, "message", &text, &why))
        text = sf_str_from(why.text);
    sf_service_say(s, SF_SAY_WARN, "%s: %.*s", what, SF_STR_ARG(text));
    sf_arena_done(&room);
}

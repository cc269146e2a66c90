#include "cli/ask.h"

void sf_ask_param(struct sf_buf *path, const char *name, const char *value)
{
    if (!value)
        return;
    sf_buf_print(path, "&%s=", name);
    sf_client_encode(path, sf_str_from(value));
}

void sf_ask_span(struct sf_buf *path, const char *trace, const char *span, const char *what)
{
    sf_buf_add_str(path, SF_STR("/api/v1/spans/"));
    sf_client_encode(path, trace ? sf_str_from(trace) : SF_STR("-"));
    sf_buf_add_u8(path, '/');
    sf_client_encode(path, sf_str_from(span));
    sf_buf_print(path, "/%s", what);
}

enum sf_err sf_ask(const struct sf_client *client, enum sf_output form, struct sf_buf *path,
                   struct sf_buf *out, struct sf_why *why)
{
    enum sf_err err;
    size_t at;
    sf_buf_add_u8(path, sf_str_find(sf_buf_str(path), SF_STR("?"), &at) ? '&' : '?');
    sf_buf_add_str(path, form == SF_OUTPUT_TEXT ? SF_STR("format=text") : SF_STR("format=json"));
    sf_buf_add_u8(path, 0);
    if (!sf_buf_ok(path))
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    err = sf_client_get(client, (char *)path->p, "*/*", out, why);
    if (!err && form == SF_OUTPUT_JSON)
        sf_buf_add_u8(out, '\n');
    return err;
}

int sf_ask_and_print(const char *command, const struct sf_client *client, const char *output,
                     struct sf_buf *path)
{
    enum sf_output form = sf_answer_output(command, output, false);
    struct sf_buf body = {0};
    struct sf_why why = {0};
    enum sf_err err = form == SF_OUTPUT_BAD ? SF_OK : sf_ask(client, form, path, &body, &why);
    sf_buf_done(path);
    if (form != SF_OUTPUT_BAD && !err)
        return sf_answer_write(&body);
    sf_buf_done(&body);
    return form == SF_OUTPUT_BAD ? 2 : sf_answer_fault(command, &why);
}

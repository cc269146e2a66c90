#include "app/yaml.h"

#include <stdarg.h>

enum sf_err sf_yaml_open(struct sf_yaml_reader *r, const char *file, sf_str text,
                         struct sf_why *why)
{
    *r = (struct sf_yaml_reader){.file = file, .why = why};
    if (!yaml_parser_initialize(&r->parser))
        return sf_no_memory(why, file);
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(text.p ? text.p : ""),
                                 text.len);
    return SF_OK;
}

enum sf_err sf_yaml_close(struct sf_yaml_reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    return r->err;
}

static bool refuse_va(struct sf_yaml_reader *r, uint32_t line, const char *format, va_list args)
{
    r->err = sf_fail_va(r->why, SF_ERR_INPUT, format, args);
    if (r->why)
        sf_why_prefix(r->why, "%s:%u", r->file, line);
    return false;
}

bool sf_yaml_refuse_at(struct sf_yaml_reader *r, uint32_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse_va(r, line, format, args);
    va_end(args);
    return false;
}

bool sf_yaml_refuse(struct sf_yaml_reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse_va(r, sf_yaml_line(r), format, args);
    va_end(args);
    return false;
}

static bool refuse_syntax(struct sf_yaml_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) {
        r->err = sf_no_memory(r->why, r->file);
        return false;
    }
    return sf_yaml_refuse_at(r, (uint32_t)p->problem_mark.line + 1, "not YAML: %s%s%s",
                             p->problem ? p->problem : "malformed", p->context ? " " : "",
                             p->context ? p->context : "");
}

bool sf_yaml_next(struct sf_yaml_reader *r)
{
    const yaml_event_t *e = &r->event;
    if (r->err)
        return false;
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
    if (!r->has_event)
        return refuse_syntax(r);
    if (e->type == YAML_ALIAS_EVENT)
        return sf_yaml_refuse(r, "aliases (*name) are not allowed here");
    if ((e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor) ||
        (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor) ||
        (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor))
        return sf_yaml_refuse(r, "anchors (&name) are not allowed here");
    return true;
}

bool sf_yaml_begin(struct sf_yaml_reader *r)
{
    /* The start of the stream; then the start of the document or the end of the stream. */
    if (!sf_yaml_next(r))
        return false;
    if (!sf_yaml_next(r) || r->event.type == YAML_STREAM_END_EVENT)
        return false;
    return sf_yaml_next(r);
}

bool sf_yaml_end(struct sf_yaml_reader *r)
{
    /* The end of the document; then the end of the stream or another document. */
    if (!sf_yaml_next(r))
        return false;
    if (!sf_yaml_next(r))
        return false;
    return r->event.type == YAML_STREAM_END_EVENT ||
           sf_yaml_refuse(r, "only one YAML document is read; here a second begins");
}

bool sf_yaml_next_key(struct sf_yaml_reader *r)
{
    if (!sf_yaml_next(r) || r->event.type == YAML_MAPPING_END_EVENT)
        return false;
    return r->event.type == YAML_SCALAR_EVENT ||
           sf_yaml_refuse(r, "a key is a word, not %s", sf_yaml_kind(r));
}

bool sf_yaml_enter_map(struct sf_yaml_reader *r, const char *what)
{
    if (!sf_yaml_next(r))
        return false;
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return true;
    if (sf_yaml_is_null(r))
        return false;
    return sf_yaml_refuse(r, "%s expects keys below it, not %s", what, sf_yaml_kind(r));
}

uint32_t sf_yaml_line(const struct sf_yaml_reader *r)
{
    return (uint32_t)r->event.start_mark.line + 1;
}

sf_str sf_yaml_scalar(const struct sf_yaml_reader *r)
{
    return (sf_str){(const char *)r->event.data.scalar.value, r->event.data.scalar.length};
}

bool sf_yaml_is_null(const struct sf_yaml_reader *r)
{
    sf_str text;
    if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    text = sf_yaml_scalar(r);
    return text.len == 0 || sf_str_eq(text, SF_STR("~")) || sf_str_eq(text, SF_STR("null"));
}

const char *sf_yaml_kind(const struct sf_yaml_reader *r)
{
    return r->event.type == YAML_MAPPING_START_EVENT    ? "a map"
           : r->event.type == YAML_SEQUENCE_START_EVENT ? "a list"
           : r->event.type == YAML_SCALAR_EVENT         ? "one value"
                                                        : "nothing";
}

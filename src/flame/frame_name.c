#include "flame/frame_name.h"

#include <inttypes.h>

static const sf_str unknown = {"(unknown)", 9};

static bool find_last(sf_str s, char c, size_t *out_at)
{
    for (size_t i = s.len; i-- > 0;) {
        if (s.p[i] == c) {
            *out_at = i;
            return true;
        }
    }
    return false;
}

static sf_str frame_name_base_name(sf_str path)
{
    size_t at;
    return find_last(path, '/', &at) ? sf_str_from_at(path, at + 1) : path;
}

/* Code without symbols is one frame per library: a frame for each address would not say more, and
 * would hide the library's total. If lines are requested, it is one per address. */
static bool frame_name_add_address(const struct sf_frame *f, bool has_addresses,
                                   struct sf_arena *req, sf_str *out)
{
    sf_str module = frame_name_base_name(f->module);
    if (f->function.len) {
        *out = f->function;
        return true;
    }
    if (module.len && !has_addresses)
        return sf_arena_print(req, out, "%.*s (no symbols)", SF_STR_ARG(module));
    if (module.len)
        return sf_arena_print(req, out, "%.*s!0x%" PRIx64, SF_STR_ARG(module), f->file_off);
    if (f->file_off)
        return sf_arena_print(req, out, "0x%" PRIx64, f->file_off);
    *out = unknown;
    return true;
}

/* ---- packages ---- */

/* The name without its arguments: "(" at the start or after a dot or colon is a Go receiver or
 * "(anonymous namespace)", not the start of arguments. */
static sf_str frame_name_without_arguments(sf_str name)
{
    for (size_t i = 1; i < name.len; i++) {
        bool is_argument = name.p[i] == '<' || name.p[i] == '[' ||
                           (name.p[i] == '(' && name.p[i - 1] != '.' && name.p[i - 1] != ':');
        if (is_argument)
            return sf_str_part(name, 0, i);
    }
    return name;
}

/* "a::b::c" is in "a::b". */
static bool colon_package(sf_str name, sf_str *out)
{
    for (size_t i = name.len; i-- > 1;) {
        if (name.p[i] == ':' && name.p[i - 1] == ':') {
            *out = sf_str_part(name, 0, i - 1);
            return out->len > 0;
        }
    }
    return false;
}

/* "github.com/x/y.(*T).F" is in "github.com/x/y", "main.run" in "main". */
static bool frame_name_go_package(sf_str name, sf_str *out)
{
    size_t slash = 0, point;
    find_last(name, '/', &slash);
    if (!sf_str_find_char(sf_str_from_at(name, slash), '.', &point))
        return false;
    *out = sf_str_part(name, 0, slash + point);
    return out->len > 0;
}

/* "com/x/Y.f" and "com.x.Y.f" are in class com.x.Y, package com.x. */
static bool java_package(sf_str name, sf_str *out)
{
    size_t at;
    if (!find_last(name, '.', &at))
        return false;
    name = sf_str_part(name, 0, at);
    if (find_last(name, '/', &at) || find_last(name, '.', &at))
        name = sf_str_part(name, 0, at);
    *out = name;
    return name.len > 0;
}

static bool directory(sf_str file, sf_str *out)
{
    size_t at;
    if (!find_last(file, '/', &at) || at == 0)
        return false;
    *out = sf_str_part(file, 0, at);
    return true;
}

static bool package_of(const struct sf_frame *f, sf_str *out)
{
    sf_str name = frame_name_without_arguments(f->function);
    size_t at;
    if (f->kind == SF_FRAME_GO)
        return frame_name_go_package(name, out);
    if (f->kind == SF_FRAME_JVM)
        return java_package(name, out);
    if (colon_package(name, out))
        return true;
    if (f->kind == SF_FRAME_UNKNOWN && sf_str_find_char(name, '/', &at) &&
        frame_name_go_package(name, out))
        return true;
    if (directory(f->file, out))
        return true;
    return f->kind == SF_FRAME_UNKNOWN && frame_name_go_package(name, out);
}

static sf_str or_unknown(sf_str name)
{
    return name.len ? name : unknown;
}

bool sf_frame_name(const struct sf_frame *f, enum sf_frame_group group, struct sf_arena *req,
                   sf_str *out)
{
    sf_str name;
    switch (group) {
    case SF_GROUP_FUNCTION: return frame_name_add_address(f, false, req, out);
    case SF_GROUP_LINE:
        if (!frame_name_add_address(f, true, req, &name))
            return false;
        *out = name;
        return f->line == 0 || sf_arena_print(req, out, "%.*s %.*s:%u", SF_STR_ARG(name),
                                              SF_STR_ARG(frame_name_base_name(f->file)), f->line);
    case SF_GROUP_FILE: *out = or_unknown(f->file); return true;
    case SF_GROUP_MODULE: *out = or_unknown(frame_name_base_name(f->module)); return true;
    case SF_GROUP_PACKAGE:
        *out = package_of(f, &name) ? name : or_unknown(frame_name_base_name(f->module));
    }
    return true;
}

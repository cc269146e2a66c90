#include "cli/demo_switch.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "os/dir.h"

enum { RECORD = 16 };
static const char file_name[] = "switches";

bool sf_demo_switch_problem_find(sf_str name, size_t *out)
{
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++) {
        if (sf_str_eq(name, sf_str_from(sf_demo_problems[i].name))) {
            *out = i;
            return true;
        }
    }
    return false;
}

static enum sf_err demo_switch_refuse(sf_str word, struct sf_why *why)
{
    const char *names[SF_DEMO_PROBLEMS], *near;
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++)
        names[i] = sf_demo_problems[i].name;
    near = sf_text_nearest(word, names, SF_DEMO_PROBLEMS);
    return sf_fail(why, SF_ERR_INPUT, "there is no problem \"%.*s\"%s%s%s",
                   SF_STR_ARG(sf_str_part(word, 0, 40)), near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

enum sf_err sf_demo_switches_read(struct sf_demo_switches *s, const char *off, struct sf_why *why)
{
    sf_str rest = sf_str_from(off), word;
    size_t at = 0;
    while (sf_str_split_next(&rest, ',', &word)) {
        bool is_all = sf_str_eq(word, SF_STR("all"));
        if (!word.len)
            continue;
        if (!is_all && !sf_demo_switch_problem_find(word, &at))
            return demo_switch_refuse(word, why);
        for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++) {
            if (is_all || i == at)
                s->is_off[i] = s->was_off[i] = true;
        }
    }
    return SF_OK;
}

enum sf_err sf_demo_switches_open(struct sf_demo_switches *s, const char *home, struct sf_why *why)
{
    char records[SF_DEMO_PROBLEMS][RECORD] = {0};
    struct sf_dir *dir = NULL;
    enum sf_err err = sf_dir_open(home, SF_DIR_CREATE, &dir, why);
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++) {
        snprintf(records[i], RECORD - 1, "%s", sf_demo_problems[i].name);
        records[i][RECORD - 1] = s->is_off[i] ? '0' : '1';
    }
    snprintf(s->path, sizeof(s->path), "%s/%s", home, file_name);
    if (!err)
        err = sf_dir_create(dir, file_name, &s->file, why);
    if (!err)
        err = sf_file_write_at(&s->file, 0, records, sizeof(records), why);
    sf_dir_close(dir);
    return err;
}

enum sf_err sf_demo_switches_set(struct sf_demo_switches *s, size_t at, bool is_off,
                                 struct sf_why *why)
{
    char byte = is_off ? '0' : '1';
    enum sf_err err = sf_file_write_at(&s->file, at * RECORD + RECORD - 1, &byte, 1, why);
    if (err)
        return err;
    s->is_off[at] = is_off;
    s->was_off[at] |= is_off;
    return SF_OK;
}

bool sf_demo_switches_are_all_on(const struct sf_demo_switches *s)
{
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++) {
        if (s->was_off[i] && strcmp(sf_demo_problems[i].name, "python") != 0)
            return false;
    }
    return true;
}

void sf_demo_switches_close(struct sf_demo_switches *s)
{
    sf_file_close(&s->file);
}

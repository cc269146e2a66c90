#include "store/local/keep/keep_verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/verdict.h"
#include "store/local/keep/pins.h"
#include "store/local/keep/rule_sets.h"

enum { MAX_LEN = 64 << 20 };

struct check {
    struct sf_dir *dir;
    const uint8_t *uuid;
    struct sf_arena scratch;
    void (*say)(void *arg, const char *sentence);
    void *arg;
    uint64_t *n_faults;
    enum sf_err err;
    struct sf_why *why;
};

static void keep_verify_fault(struct check *k, const char *name, const char *what)
{
    char line[400];
    snprintf(line, sizeof(line), "verdict/%.100s: %.280s", name, what);
    ++*k->n_faults;
    k->say(k->arg, line);
}

static enum sf_err see_pin(void *arg, const struct sf_pin *pin, struct sf_why *why)
{
    (void)arg;
    return pin->tenant && pin->until_ns >= pin->created_ns
               ? SF_OK
               : sf_fail(why, SF_ERR_CORRUPT,
                         "a pin without a tenant, or that ends before it began");
}

static enum sf_err see_set(void *arg, const struct sf_rule_set *set, struct sf_why *why)
{
    struct check *k = arg;
    struct sf_arena tmp = k->scratch;
    struct sf_keep_rules rules;
    return sf_keep_rules_decode(set->rules, &tmp, &rules, why);
}

static void inspect_list(struct check *k, const char *path, const char *magic, bool is_pins)
{
    struct sf_buf whole = {0};
    struct sf_why why = {0};
    sf_bytes in;
    enum sf_err err = sf_keep_book_file_read(k->dir, path, magic, k->uuid, &whole, &in, &why);
    if (!err)
        err = is_pins ? sf_pins_decode(in, see_pin, k, &why)
                      : sf_rule_sets_decode(in, see_set, k, &why);
    sf_buf_done(&whole);
    if (err == SF_ERR_NOMEM || err == SF_ERR_LIMIT)
        k->err = sf_fail(k->why, err, "%s", why.text);
    else if (err && err != SF_ERR_NOT_FOUND)
        keep_verify_fault(k, path + strlen("verdict/"), why.text);
}

static enum sf_err keep_verify_read_all(struct check *k, const char *path, struct sf_buf *out,
                                        struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err = sf_dir_open_read(k->dir, path, &file, why);
    if (!err)
        err = sf_file_read_all(&file, MAX_LEN, out, why);
    sf_file_close(&file);
    return err;
}

static void inspect_verdict(struct check *k, const char *entry)
{
    struct sf_arena tmp = k->scratch;
    struct sf_buf whole = {0};
    struct sf_verdict v;
    struct sf_why why = {0};
    char path[300], own[80];
    enum sf_err err;
    snprintf(path, sizeof(path), "verdict/%.280s", entry);
    err = keep_verify_read_all(k, path, &whole, &why);
    if (!err)
        err = sf_verdict_decode(sf_buf_bytes(&whole), k->uuid, &tmp, &v, &why);
    if (!err) {
        snprintf(own, sizeof(own), "%" PRIu32 "-%" PRId64 ".sfv", v.head.tenant, v.head.hour);
        if (strcmp(own, entry) != 0)
            keep_verify_fault(k, entry, "it is of another hour or tenant");
    }
    sf_buf_done(&whole);
    if (err == SF_ERR_NOMEM || err == SF_ERR_LIMIT)
        k->err = sf_fail(k->why, err, "%s", why.text);
    else if (err)
        keep_verify_fault(k, entry, why.text);
}

static bool keep_verify_see_entry(void *arg, const char *entry, bool is_dir)
{
    struct check *k = arg;
    sf_str name = sf_str_from(entry);
    if (!is_dir && name.len > 4 && sf_str_eq(sf_str_part(name, name.len - 4, 4), SF_STR(".sfv")))
        inspect_verdict(k, entry);
    return !k->err;
}

enum sf_err sf_keep_verify(struct sf_dir *dir, const uint8_t *uuid, struct sf_arena scratch,
                           void (*say)(void *arg, const char *sentence), void *arg,
                           uint64_t *n_faults, struct sf_why *why)
{
    struct check k = {.dir = dir,
                      .uuid = uuid,
                      .scratch = scratch,
                      .say = say,
                      .arg = arg,
                      .n_faults = n_faults,
                      .why = why};
    enum sf_err err = SF_OK;
    if (!sf_dir_exists(dir, "verdict"))
        return SF_OK;
    inspect_list(&k, SF_PINS_FILE, SF_PINS_MAGIC, true);
    if (!k.err)
        inspect_list(&k, SF_RULE_SETS_FILE, SF_RULE_SETS_MAGIC, false);
    if (!k.err)
        err = sf_dir_list(dir, "verdict", keep_verify_see_entry, &k, why);
    return err ? err : k.err;
}

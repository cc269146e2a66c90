#include "app/config.h"
#include "intake/redact.h"
#include "os/file.h"

enum { KEY_MAX_LEN = 4096 };

static enum sf_err config_redactor_read_key(const char *path, struct sf_buf *out,
                                            struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err = sf_file_open_path(path, &file, why);

    if (!err)
        err = sf_file_read_all(&file, KEY_MAX_LEN, out, why);
    if (!err && out->len < 16)
        err = sf_fail(why, SF_ERR_INPUT,
                      "%s has less than 16 bytes; make a key with: head -c 32 "
                      "/dev/urandom > FILE",
                      path);
    if (err && why)
        sf_why_prefix(why, "redact.hash_key_file");
    sf_file_close(&file);
    return err;
}

enum sf_err sf_config_redactor(const struct sf_config *c, struct sf_redactor **out,
                               struct sf_why *why)
{
    const struct sf_config_redact *wanted = &c->redact;
    struct sf_redact_config config = {
        .has_builtin = wanted->has_builtin,
        .is_substring = wanted->match == SF_REDACT_SUBSTRING,
        .in_keys = wanted->in_keys,
        .in_values = wanted->in_values,
        .in_names = wanted->in_names,
        .functions = (enum sf_redact_code)wanted->functions,
        .files = (enum sf_redact_code)wanted->files,
        .patterns = wanted->patterns.items,
        .n_patterns = wanted->patterns.n,
        .allow = wanted->allow.items,
        .n_allow = wanted->allow.n,
    };
    struct sf_buf key = {0};
    enum sf_err err = SF_OK;

    if (!wanted->is_enabled) {
        *out = NULL;
        return SF_OK;
    }
    if (wanted->replace == SF_REDACT_HASH)
        err = config_redactor_read_key(wanted->hash_key_file, &key, why);
    if (!err) {
        config.hash_key = sf_buf_bytes(&key);
        err = sf_redactor_new(&config, out, why);
    }
    sf_buf_done(&key);
    return err;
}

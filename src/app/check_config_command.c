#include "app/check_config_command.h"

#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "intake/redact.h"

static int print_and_free(struct sf_buf *out)
{
    bool is_fine = sf_buf_ok(out) && fwrite(out->p, 1, out->len, stdout) == out->len;
    sf_buf_done(out);
    return is_fine ? 0 : 1;
}

static int print_effective(const struct sf_config *c)
{
    struct sf_buf out = {0};
    sf_config_render_effective(c, &out);
    return print_and_free(&out);
}

int sf_check_config_run(int argc, char **argv)
{
    struct sf_config_flags config_flags;
    bool has_keys = false, has_example = false;
    struct sf_flag flags[SF_CONFIG_N_FLAGS + 2];
    struct sf_args args = {
        .command = "check-config",
        .usage = "[--config FILE] [--keys | --example]",
        .summary = "Checks the configuration and prints what is in effect.",
        .details = "Settings come from a YAML file, from the environment (retention.spans is "
                   "SPANFLAME_RETENTION_SPANS) and from flags, later ones winning. Each line shows "
                   "a key, its value and where the value came from. A mistake is said with its "
                   "line and the nearest known key, and the exit code is 1.",
        .examples = "spanflame check-config --config /etc/spanflame/spanflame.yaml\n"
                    "spanflame check-config --set retention.spans=3d\n"
                    "spanflame check-config --example > spanflame.yaml",
        .flags = flags,
        .n_flags = SF_CONFIG_N_FLAGS + 2,
    };
    struct sf_config *config = NULL;
    struct sf_redactor *redactor = NULL;
    struct sf_buf out = {0};
    struct sf_why why = {0};
    int result = 0;

    sf_config_flags_init(&config_flags);
    memcpy(flags, config_flags.table, sizeof(config_flags.table));
    flags[SF_CONFIG_N_FLAGS] = (struct sf_flag){
        "keys", SF_FLAG_BOOL, &has_keys, NULL,
        "print every key with type, default and meaning as a Markdown table"};
    flags[SF_CONFIG_N_FLAGS + 1] = (struct sf_flag){"example", SF_FLAG_BOOL, &has_example, NULL,
                                                    "print a file with every key commented out"};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words) {
        fprintf(stderr, "spanflame check-config: takes no words; did you mean --config %s?\n",
                args.words[0]);
        return 2;
    }
    if (has_keys || has_example) {
        (has_keys ? sf_config_render_table : sf_config_render_example)(&out);
        return print_and_free(&out);
    }
    if (sf_config_flags_load(&config_flags, &config, &why)) {
        fprintf(stderr, "spanflame check-config: %s\n", why.text);
        return 1;
    }
    result = print_effective(config);
    for (size_t i = 0; i < config->warnings.n; i++)
        fprintf(stderr, "warning: %s\n", config->warnings.items[i]);
    if (sf_config_check_public(config, &why) || sf_config_redactor(config, &redactor, &why)) {
        fprintf(stderr, "spanflame check-config: %s\n", why.text);
        result = 1;
    }
    sf_redactor_free(redactor);
    sf_config_free(config);
    return result;
}

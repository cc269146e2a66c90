#include "app/check_config_command.h"

#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "app/overrides.h"
#include "cli/answer.h"
#include "intake/redact.h"

static void check_config_command_write_json(const struct sf_config *c, const char *fault,
                                            struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    sf_json_write_object(&j);
    sf_json_write_key(&j, SF_STR("settings"));
    sf_config_render_json(c, &j);
    sf_json_write_key(&j, SF_STR("warnings"));
    sf_json_write_array(&j);
    for (size_t i = 0; i < c->warnings.n; i++)
        sf_json_write_str(&j, sf_str_from(c->warnings.items[i]));
    sf_json_write_array_end(&j);
    if (fault)
        sf_json_write_key_str(&j, SF_STR("error"), sf_str_from(fault));
    sf_json_write_object_end(&j);
    sf_buf_add_u8(out, '\n');
}

static int print_effective(const struct sf_config *c, bool is_json)
{
    struct sf_redactor *redactor = NULL;
    struct sf_buf out = {0};
    struct sf_why why = {0};
    bool is_refused = sf_config_address_check_public(c, &why) ||
                      sf_config_redactor(c, &redactor, &why);
    int result;

    sf_redactor_free(redactor);
    if (is_json)
        check_config_command_write_json(c, is_refused ? why.text : NULL, &out);
    else
        sf_config_render_effective(c, &out);
    result = sf_answer_write(&out);
    for (size_t i = 0; i < c->warnings.n && !is_json; i++)
        fprintf(stderr, "warning: %s\n", c->warnings.items[i]);
    return is_refused ? sf_answer_fault("check-config", &why) : result;
}

/* Also checks the file of limits that the configuration names. */
static enum sf_err check_limits(const struct sf_config *config, struct sf_why *why)
{
    struct sf_overrides *o = NULL;
    struct sf_quota *quota;
    enum sf_err err;
    if (!config->limits.overrides_file)
        return SF_OK;
    quota = sf_quota_new();
    err = quota ? sf_overrides_open(config->limits.overrides_file, quota, &o, why)
                : sf_fail(why, SF_ERR_NOMEM, "no memory for limits");
    sf_overrides_close(o);
    sf_quota_free(quota);
    return err;
}

int sf_check_config_command_run(int argc, char **argv)
{
    struct sf_config_flags config_flags;
    bool has_keys = false, has_example = false;
    const char *output = NULL;
    enum sf_output form;
    struct sf_flag flags[SF_CONFIG_N_FLAGS + 3];
    struct sf_args args = {
        .command = "check-config",
        .usage = "[--config FILE] [--output text|json] [--keys | --example]",
        .summary = "Check the configuration and print the values in effect.",
        .details = "Settings come from a YAML file, from the environment (retention.spans is "
                   "SPANFLAME_RETENTION_SPANS) and from flags; later sources override earlier "
                   "ones. Each line shows a key, its value and the source of the value. An error "
                   "is printed with its line and the most similar known key, and the exit code is "
                   "1. The file named by limits.overrides_file is checked as well.",
        .examples = "spanflame check-config --config /etc/spanflame/spanflame.yaml\n"
                    "spanflame check-config --set retention.spans=3d\n"
                    "spanflame check-config --example > spanflame.yaml",
        .flags = flags,
        .n_flags = SF_CONFIG_N_FLAGS + 3,
    };
    struct sf_config *config = NULL;
    struct sf_buf out = {0};
    struct sf_why why = {0};
    int result;

    sf_config_flags_init(&config_flags);
    memcpy(flags, config_flags.table, sizeof(config_flags.table));
    flags[SF_CONFIG_N_FLAGS] = (struct sf_flag){
        "keys", SF_FLAG_BOOL, &has_keys, NULL,
        "print all keys with type, default and description as a Markdown table"};
    flags[SF_CONFIG_N_FLAGS + 1] = (struct sf_flag){
        "example", SF_FLAG_BOOL, &has_example, NULL,
        "print an example file with all keys commented out"};
    flags[SF_CONFIG_N_FLAGS + 2] = (struct sf_flag){"output", SF_FLAG_STR, &output, "FORM",
                                                    "text or json (default text)"};
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words) {
        fprintf(stderr, "spanflame check-config: takes no arguments; did you mean --config %s?\n",
                args.words[0]);
        return 2;
    }
    form = sf_answer_output("check-config", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    if (has_keys || has_example) {
        (has_keys ? sf_config_render_table : sf_config_render_example)(&out);
        return sf_answer_write(&out);
    }
    if (sf_config_flags_load(&config_flags, &config, &why))
        return sf_answer_fault("check-config", &why);
    result = check_limits(config, &why) ? sf_answer_fault("check-config", &why)
                                        : print_effective(config, form == SF_OUTPUT_JSON);
    sf_config_free(config);
    return result;
}

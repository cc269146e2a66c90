#include "test.h"

#include <stdlib.h>

#include "app/config.h"
#include "intake/redact.h"
#include "os/file.h"

static struct sf_why why;

static struct sf_buf read_source(const char *name)
{
    struct sf_file file;
    struct sf_buf text = {0};
    char path[512];
    const char *root = getenv("SPANFLAME_SOURCE");

    if (!root)
        skip();
    snprintf(path, sizeof(path), "%s/%s", root, name);
    if (sf_file_open_path(path, &file, &why) || sf_file_read_all(&file, 1 << 20, &text, &why))
        fail_msg("%s: %s", path, why.text);
    sf_file_close(&file);
    return text;
}

TEST(config_docs, the_example_file_is_what_the_table_says)
{
    struct sf_buf file = read_source("deploy/spanflame.yaml"), want = {0};
    sf_config_render_example(&want);
    if (!sf_str_eq(sf_buf_str(&file), sf_buf_str(&want)))
        fail_msg("renew it: spanflame check-config --example > deploy/spanflame.yaml");
    sf_buf_done(&file);
    sf_buf_done(&want);
}

TEST(config_docs, the_example_file_parses_as_it_is_and_uncommented)
{
    struct sf_buf file = read_source("deploy/spanflame.yaml"), bare = {0};
    struct sf_config *c = NULL;
    sf_str rest = sf_buf_str(&file), line;

    assert_ok(sf_config_parse(rest, "deploy/spanflame.yaml", &c, &why));
    sf_config_free(c);
    c = NULL;
    while (sf_str_split_next(&rest, '\n', &line)) {
        /* "# text" is prose; "#key" and "#  key" are settings; so is not the other form of one. */
        bool is_prose = line.len > 2 && line.p[1] == ' ' && line.p[2] != ' ';
        bool is_setting = line.len && !is_prose && !sf_str_starts(line, SF_STR("#  - "));
        sf_buf_print(&bare, "%.*s\n", SF_STR_ARG(is_setting ? sf_str_from_at(line, 1) : line));
    }
    if (sf_config_parse(sf_buf_str(&bare), "uncommented", &c, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        if (sf_config_keys[i].type != SF_CONFIG_PART && c->origins[i].from != SF_FROM_FILE)
            fail_msg("%s is not in it", sf_config_keys[i].path);
    }
    sf_config_free(c);
    sf_buf_done(&file);
    sf_buf_done(&bare);
}

TEST(config_docs, the_page_holds_the_table)
{
    struct sf_buf page = read_source("docs/configuration.md"), want = {0};
    size_t at;
    sf_config_render_table(&want);
    if (!sf_str_find(sf_buf_str(&page), sf_buf_str(&want), &at))
        fail_msg("renew the table in docs/configuration.md: spanflame check-config --keys");
    sf_buf_done(&page);
    sf_buf_done(&want);
}

TEST(config_docs, the_page_on_redaction_names_every_rule)
{
    struct sf_buf page = read_source("docs/redaction.md");
    struct sf_redact_config config = {.has_builtin = true, .in_keys = true};
    struct sf_redactor *r = NULL;
    const char *rule;
    uint64_t n;
    size_t at;

    for (size_t i = 0; i < page.len; i++)
        page.p[i] = page.p[i] == '\n' ? ' ' : page.p[i];
    assert_ok(sf_redactor_new(&config, &r, &why));
    for (size_t i = 0; (rule = sf_redactor_rule(r, i, &n)); i++) {
        sf_str name = sf_str_from_at(sf_str_from(rule), sizeof("word: ") - 1);
        if (!sf_str_find(sf_buf_str(&page), sf_str_trim(name), &at))
            fail_msg("docs/redaction.md does not mention %s", rule);
    }
    sf_redactor_free(r);
    sf_buf_done(&page);
}

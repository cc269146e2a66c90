/* config_value.h - one setting: from text into a configuration, with mistakes that say where.
 * Private to config*.c. */
#pragma once
#include "app/config.h"

enum { SF_CONFIG_MAX_ITEMS = 256, SF_CONFIG_NO_KEY = -1 };

/* Begins a sentence with file and line, variable or flag. Always INPUT. */
enum sf_err sf_config_value_fail(const struct sf_config *c, struct sf_config_origin at,
                                 struct sf_why *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The place of `path` in the table, or SF_CONFIG_NO_KEY; parts of list items are no keys. */
int sf_config_value_find_key(sf_str path);
/* "; did you mean retention.spans?" or nothing, for a path that is none. */
void sf_config_value_suggest(sf_str path, char *to, size_t cap);

/* Any type but LIST and LISTEN. */
enum sf_err sf_config_value_set_text(struct sf_config *c, size_t index, sf_str text,
                                     struct sf_config_origin at, struct sf_why *why);
/* LIST and LISTEN; replaces what is there. */
enum sf_err sf_config_value_set_list(struct sf_config *c, size_t index, const sf_str *items,
                                     size_t n, struct sf_config_origin at, struct sf_why *why);
/* Replaces the addresses by `n` that already live in the configuration's arena. */
void sf_config_value_set_addresses(struct sf_config *c, size_t key,
                                   const struct sf_listen_address *addresses, size_t n,
                                   struct sf_config_origin at);
enum sf_err sf_config_address_parse(struct sf_config *c, sf_str text, struct sf_config_origin at,
                                    struct sf_listen_address *out, struct sf_why *why);
/* A terminated copy in the arena. */
enum sf_err sf_config_value_copy(struct sf_config *c, sf_str text, struct sf_config_origin at,
                                 const char **out, struct sf_why *why);

/* The whole file. */
enum sf_err sf_config_yaml_read(struct sf_config *c, sf_str yaml, struct sf_why *why);
/* The rules of retention.keep, from profiling.conditional. INPUT. */
enum sf_err sf_config_keep_rules(struct sf_config *c, struct sf_config_origin at,
                                 struct sf_why *why);
/* Templates of links out of the page: http or https, their own host, placeholders that are known.
 * INPUT, with the key that is wrong. */
enum sf_err sf_config_links_check(const struct sf_config *c, const char **out_key,
                                  struct sf_why *why);

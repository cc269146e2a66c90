/* config_value.h - sets one value of a configuration from text; error messages name its origin.
 * Private to config*.c. */
#pragma once
#include "app/config.h"

enum { SF_CONFIG_MAX_ITEMS = 256, SF_CONFIG_NO_KEY = -1 };

/* Begins a message with file and line, variable or flag. Always returns INPUT. */
enum sf_err sf_config_value_fail(const struct sf_config *c, struct sf_config_origin at,
                                 struct sf_why *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The index of `path` in the table, or SF_CONFIG_NO_KEY; parts of list items are not keys. */
int sf_config_value_find_key(sf_str path);
/* Writes "; did you mean retention.spans?" or nothing, for an unknown path. */
void sf_config_value_suggest(sf_str path, char *to, size_t cap);

/* For all types but LIST and LISTEN. */
enum sf_err sf_config_value_set_text(struct sf_config *c, size_t index, sf_str text,
                                     struct sf_config_origin at, struct sf_why *why);
/* For LIST and LISTEN; replaces the previous value. */
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
/* Builds the rules of retention.keep from profiling.conditional. INPUT. */
enum sf_err sf_config_keep_rules(struct sf_config *c, struct sf_config_origin at,
                                 struct sf_why *why);
/* Checks the link templates of the page: http or https, a constant host, known placeholders. INPUT;
 * *out_key is the key. */
enum sf_err sf_config_links_check(const struct sf_config *c, const char **out_key,
                                  struct sf_why *why);

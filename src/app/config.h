/* config.h - the configuration: YAML file, environment and flags, in rising order of precedence.
 *
 * One table (config_table.c) says of every key its type, its default, its bounds and what it is
 * for; parsing, error messages, check-config, the example file and docs/configuration.md are all
 * derived from it. A configuration never changes once loaded: threads may share it; a reload
 * makes a new one. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/profiling_keys.h"
#include "base/str.h"
#include "cli/args.h"
#include "listen/listener.h"
#include "model/retention.h"
#include "wire/json_write.h"

struct sf_alert_rules; /* alert/alert_rule.h */
struct sf_scrape_jobs; /* scrape/scrape_job.h */

struct sf_config_list {
    const char *const *items;
    size_t n;
};

/* Choices are stored as an index into the table's list of words. */
enum sf_remote_ack { SF_REMOTE_ACK_LOCAL, SF_REMOTE_ACK_REMOTE };
enum sf_other_signals { SF_OTHER_SIGNALS_DISCARD, SF_OTHER_SIGNALS_REJECT };
enum sf_redact_match { SF_REDACT_WORDS, SF_REDACT_SUBSTRING };
enum sf_redact_replace { SF_REDACT_TEXT, SF_REDACT_HASH };
enum sf_log_level { SF_LEVEL_ERROR, SF_LEVEL_WARN, SF_LEVEL_INFO, SF_LEVEL_DEBUG };
enum sf_log_format { SF_FORMAT_AUTO, SF_FORMAT_HUMAN, SF_FORMAT_LOGFMT };

/* Percentages are kept in hundredths of a percent: 1 % is 100. Times are ns, sizes bytes. */
struct sf_config_limits {
    uint64_t connections, body_len, inflated_len, attrs, value_len, stack_depth, series,
        query_memory_len;
    int64_t header_timeout_ns, body_timeout_ns, idle_timeout_ns, total_timeout_ns, query_ns;
    const char *overrides_file; /* NULL: none */
};

struct sf_config_redact {
    bool is_enabled, has_builtin;
    bool in_keys, in_values, in_names;
    uint32_t match, replace;   /* enum sf_redact_match, sf_redact_replace */
    uint32_t functions, files; /* enum sf_redact_code, intake/redact.h */
    struct sf_config_list patterns, allow;
    const char *hash_key_file; /* NULL: none */
};

enum sf_config_from { SF_FROM_DEFAULT, SF_FROM_FILE, SF_FROM_ENVIRONMENT, SF_FROM_FLAG };
struct sf_config_origin {
    enum sf_config_from from;
    uint32_t line;    /* in the file */
    const char *name; /* name of the flag or variable; NULL otherwise */
};

struct sf_config {
    const char *file; /* NULL: none was read */
    const struct sf_listen_address *addresses;
    size_t n_addresses;
    const char *data_dir;
    uint64_t memory_len;
    struct {
        const char *token_file, *header;                      /* NULL: none */
        const char *user_header, *groups_header, *users_file; /* set by a proxy; NULL: none */
        struct sf_config_list proxy_peers;
        bool allow_public_without_auth;
    } auth;
    struct sf_config_list hosts, cors_origins;
    bool has_tenancy, has_sandbox;
    uint32_t other_signals; /* enum sf_other_signals */
    struct sf_config_limits limits;
    struct sf_config_redact redact;
    struct sf_retention retention;    /* its rules come from profiling.conditional */
    uint32_t keep_flagged;            /* enum sf_keep_flag */
    struct sf_config_list keep_rules; /* "service=checkout baseline=5%" */
    struct {
        struct sf_config_list debuginfod;
        int64_t fetch_ns, wait_ns;
        uint64_t cache_len, file_len, total_len;
    } symbols;
    struct {
        int64_t flush_interval_ns;
        uint64_t flush_log_len;
        struct {
            const char *url, *user, *password_file, *ca_file; /* NULL: none */
            int64_t interval_ns, timeout_ns;
            uint32_t ack; /* enum sf_remote_ack */
            uint64_t spool_len, memory_len;
            struct sf_config_list attributes;
        } remote;
    } store;
    struct {
        uint32_t level, format; /* enum sf_log_level, sf_log_format */
    } log;
    struct {
        bool has_span_metrics, has_service_graph, has_target_info;
        struct sf_config_list dimensions; /* span or resource attributes that become labels */
        uint64_t max_series;
        struct sf_config_list graph_dimensions; /* resource attributes */
        uint64_t graph_max_series, graph_max_items;
        int64_t graph_wait_ns, rules_interval_ns;
    } metrics;
    struct {
        int64_t interval_ns;
        bool pack; /* built-in rules, when there is a receiver */
        struct sf_config_list alertmanager, webhook, rules_files;
        const char *url;              /* external URL of this server, for links; NULL: none */
        struct sf_alert_rules *rules; /* shared with the server */
    } alerts;
    struct {
        const char *source_link, *source_root, *logs_link; /* templates; NULL: none */
        const char *source_folder;                         /* NULL: none */
    } page;
    struct sf_scrape_jobs *scrape; /* shared with the server; NULL: nothing is scraped */
    struct {                       /* thresholds for findings: shares and counts */
        uint32_t leaf_per_10000, repeat_per_10000, gc_per_10000, lock_per_10000, theme_per_10000;
        uint64_t depth, callers, siblings;
    } findings;
    struct sf_profiling profiling;
    struct sf_config_origin *origins; /* one per key of the table */
    struct sf_config_list warnings;   /* messages for the operator, logged once */
    struct sf_arena arena;            /* memory of the whole configuration */
};

/* ---- loading ---- */

struct sf_config_setting { /* value of one flag */
    const char *flag;      /* "--data", for messages */
    const char *path;      /* "data"; the path of a list may occur several times */
    const char *value;
};

struct sf_config_inputs {
    const char *file;       /* NULL: none */
    const char *const *env; /* NULL-terminated NAME=VALUE; NULL: none */
    const struct sf_config_setting *flags;
    size_t n_flags;
};

/* INPUT: `why` names file and line, variable or flag, and the nearest known key. NOT_FOUND or IO:
 * the file. LIMIT: it is too large. NOMEM. */
enum sf_err sf_config_load(const struct sf_config_inputs *in, struct sf_config **out,
                           struct sf_why *why);
/* The same from text, without environment and other files; `name` is the file name in messages. */
enum sf_err sf_config_parse(sf_str yaml, const char *name, struct sf_config **out,
                            struct sf_why *why);
void sf_config_free(struct sf_config *c); /* NULL is fine */

/* The flags every command that needs a configuration takes: put `table` in the command's flags,
 * parse, then load. SPANFLAME_CONFIG names the file when --config does not. */
enum { SF_CONFIG_N_FLAGS = 6 };
struct sf_config_flags {
    const char *config, *data, *memory;
    struct sf_flag_list listen, set;
    bool allow_public_without_auth;
    struct sf_flag table[SF_CONFIG_N_FLAGS];
};
void sf_config_flags_init(struct sf_config_flags *f);
enum sf_err sf_config_flags_load(const struct sf_config_flags *f, struct sf_config **out,
                                 struct sf_why *why);

/* ---- addresses ---- */

/* Refuses to listen on a public address without authentication. DENIED: the message has the line to
 * add. */
enum sf_err sf_config_address_check_public(const struct sf_config *c, struct sf_why *why);

/* ---- objects made from a configuration ---- */

struct sf_redactor; /* intake/redact.h */
/* NULL when redaction is off. INPUT: a pattern or the key file; NOT_FOUND, DENIED, IO: that file.
 */
enum sf_err sf_config_redactor(const struct sf_config *c, struct sf_redactor **out,
                               struct sf_why *why);

/* ---- the table ---- */

enum sf_config_type {
    SF_CONFIG_BOOL,
    SF_CONFIG_COUNT,    /* uint64_t */
    SF_CONFIG_RATE,     /* uint64_t; may be followed by "Hz" */
    SF_CONFIG_SIZE,     /* uint64_t bytes */
    SF_CONFIG_DURATION, /* int64_t ns */
    SF_CONFIG_PERCENT,  /* uint32_t hundredths of a percent */
    SF_CONFIG_STR,      /* const char *; an empty default is NULL */
    SF_CONFIG_LIST,     /* struct sf_config_list */
    SF_CONFIG_CHOICE,   /* uint32_t: index in `choices` */
    SF_CONFIG_LISTEN,   /* listening addresses */
    SF_CONFIG_RULES,    /* alert rules: a list of maps, in the file only */
    SF_CONFIG_SCRAPE,   /* scrape jobs: a list of maps, in the file only */
    SF_CONFIG_PART      /* documents one field of a `listen` item; cannot be set alone */
};

struct sf_config_key {
    const char *path; /* "retention.spans" */
    enum sf_config_type type;
    size_t offset;       /* in struct sf_config */
    const char *initial; /* the default, as written in a file */
    const char *choices; /* "words|substring" */
    uint64_t min, max;   /* of COUNT, RATE, SIZE, DURATION; 0, 0: no bounds */
    const char *doc;     /* description in one line */
};

extern const struct sf_config_key sf_config_keys[];
extern const size_t sf_config_n_keys;

/* The effective value as written in a file, and its origin ("spanflame.yaml:12"). */
void sf_config_render_value(const struct sf_config *c, size_t index, struct sf_buf *out);
void sf_config_render_origin(const struct sf_config *c, size_t index, struct sf_buf *out);
void sf_config_render_example(struct sf_buf *out); /* deploy/spanflame.yaml */
/* One line per key: path, value, origin. */
void sf_config_render_effective(const struct sf_config *c, struct sf_buf *out);
/* The same as an array of {key, value, origin}. */
void sf_config_render_json(const struct sf_config *c, struct sf_json_writer *j);
/* One value of a key as written in a file: 64MiB, 10s. */
void sf_config_render_bound(struct sf_buf *out, const struct sf_config_key *key, uint64_t value);
void sf_config_render_table(struct sf_buf *out); /* the table of docs/configuration.md */

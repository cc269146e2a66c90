/* service.h - the state that all handlers share, filled once by app. Fields that change after start
 * are atomic. */
#pragma once
#include <stdatomic.h>

#include "base/account.h"
#include "intake/intake.h"
#include "link/findings.h"
#include "meter/counters.h"
#include "meter/service_graph.h"
#include "meter/span_metrics.h"
#include "meter/target_info.h"
#include "os/queue.h"
#include "serve/lane.h"
#include "serve/large_turn.h"
#include "serve/own/self_profile.h"
#include "store/store.h"
#include "symbol/symbolizer.h"

struct sf_listener;
struct sf_series_cap;         /* intake/series_cap.h */
struct sf_quota;              /* intake/quota.h */
struct sf_recent_traces;      /* intake/recent_traces.h */
struct sf_pyroscope_settings; /* serve/pyroscope/settings.h */
struct sf_recording_rules;    /* serve/pyroscope/recording_rules.h */
struct sf_alerts;             /* serve/alerts/alerts.h */
struct sf_control;            /* serve/own/control.h */
struct sf_scraping;           /* serve/scrape/scraping.h */
struct sf_deploys;            /* serve/own/deploys.h */

enum { SF_MAY_READ = 1, SF_MAY_WRITE = 2, SF_MAY_ADMIN = 4, SF_MAY_CONTROL = 8 };

enum sf_say_level { SF_SAY_ERROR, SF_SAY_WARN, SF_SAY_INFO, SF_SAY_DEBUG };

enum sf_service_state {
    SF_SERVICE_STARTING, /* the log is being replayed */
    SF_SERVICE_READY,
    SF_SERVICE_STOPPING
};

/* The permissions of a caller. */
struct sf_grant {
    unsigned scopes; /* SF_MAY_ bits */
    char name[66];   /* name of the caller, for the log */
    struct sf_buf
        tenants; /* the only tenants they may name, separated by commas; empty: all. Owned. */
};

struct sf_service_auth {
    /* False: the token is unknown. Any thread may call it. NULL: no tokens are required. */
    bool (*token)(void *arg, sf_str token, struct sf_grant *out);
    void *token_arg;
    sf_str header; /* another header that may carry the token, lower case; may be empty */
    /* Users authenticated by a proxy in front of the server. NULL: there is none. */
    bool (*user)(void *arg, sf_str user, sf_str groups, struct sf_grant *out);
    bool (*is_proxy)(void *arg, const char *peer);
    void *user_arg;
    sf_str user_header, groups_header; /* lower case; the second may be empty */
};

struct sf_service {
    _Atomic(struct sf_store *) store; /* NULL until it is open */
    atomic_int state;                 /* enum sf_service_state */
    atomic_uint_fast64_t replay_done_len, replay_all_len;
    struct sf_listener *listener; /* for its statistics; NULL in tests */

    struct sf_intake_config intake;
    struct sf_service_auth auth;
    struct sf_series_cap *series_cap;       /* limits the label sets of each service */
    struct sf_quota *quota;                 /* limits of tenants and services; NULL in tests */
    struct sf_recent_traces *recent;        /* failed and slow traces; NULL in tests */
    struct sf_pyroscope_settings *settings; /* of users; NULL in tests */
    struct sf_recording_rules *rules;       /* metrics generated from profiles; NULL in tests */
    struct sf_alerts *alerts;               /* NULL in tests */
    struct sf_deploys *deploys;             /* NULL in tests */
    struct sf_scraping *scraping;           /* NULL in tests */
    struct sf_control *control_docs;        /* settings for collectors; NULL in tests */
    struct sf_dir *adhoc;                   /* directory of ad hoc profiles; NULL in tests */
    struct sf_symbolizer *symbols;          /* finds function names; NULL in tests */
    uint32_t max_frames;                    /* frames of one stack; 0: SF_LIMIT_STACK_DEPTH */
    struct sf_finding_limits finding_limits;
    struct sf_keep_rules keep_rules; /* as configured */
    bool has_tenancy, rejects_other_signals, has_span_metrics;
    const char *const *hosts; /* additional host names of the server; "*" is any */
    size_t n_hosts;
    sf_str own_names; /* the machine's names, separated by blanks */
    const char *const *cors_origins;
    size_t n_cors_origins;
    uint64_t memory_len, query_memory_len;
    int64_t query_ns;
    const char *version;
    const char *source_link, *source_root, *logs_link; /* templates for the page; NULL: none */
    const char *source_folder; /* folder of source files that the page may show; NULL: none */
    sf_str config_text;        /* the configuration in effect, for administrators */
    sf_str defaults_text;      /* the default configuration */

    struct sf_queue *ingest, *control; /* queues of struct sf_exchange */
    struct sf_lane *point, *query;
    struct sf_account_pool query_pool; /* see serve/query_turn.h */
    size_t query_large_len, query_most_len;
    struct sf_counters *counters;
    struct sf_span_metrics *span_metrics;
    struct sf_service_graph *service_graph; /* NULL: switched off */
    struct sf_target_info *target_info;     /* likewise */

    struct sf_large_turns large;
    struct sf_self_profile self_profile;

    atomic_bool said_metrics, said_logs; /* "discarded" was logged once */
    atomic_int_fast64_t warned_ns;       /* when an error of a peer was last logged; monotonic */
    /* Logs a message. Any thread may call it; may be NULL. */
    void (*say)(void *arg, enum sf_say_level level, const char *sentence);
    void *say_arg;
};

/* Creates queues and registries; the caller fills the rest. */
enum sf_err sf_service_init(struct sf_service *s, struct sf_why *why);
void sf_service_done(struct sf_service *s);
void sf_service_say(struct sf_service *s, enum sf_say_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The current load level: the maximum of the store's and the ingest queue's. */
enum sf_pressure sf_service_pressure(struct sf_service *s);
/* Counts data of a request that was refused under load. */
void sf_service_count_shed(struct sf_service *s, sf_str tenant, enum sf_shed what);
/* The reason why the server cannot serve requests now, or NULL; written into `room`. */
const char *sf_service_unready(struct sf_service *s, char room[200]);

/* State of one thread: its number among the ingest threads, memory of the current request. */
struct sf_worker {
    unsigned number;
    struct sf_arena arena;
    struct sf_lane *turns; /* decides which query may hold much memory; NULL: the thread does not
                            * serve a lane */
    bool is_large;         /* the current call has the turn */
    bool is_decoding;      /* the current call counts in sf_large_turns.n_decoding */
    struct sf_account account;     /* memory of the call */
    uint64_t memory_len;           /* memory of the server */
    int64_t until_ns;              /* monotonic: when the current call is ended; 0: it reads no
                                    * data */
    const atomic_bool *cancel;     /* of the current call; may be NULL */
    struct sf_intake_tools *tools; /* ingest threads only */
};

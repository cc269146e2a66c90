/* lock_order.h - every lock of the server, in the order in which they may be taken together.
 *
 * A thread that holds a lock takes only locks below it in this list, and never two of one line. So
 * threads cannot wait for each other in a cycle. A lock that is only tried may be taken in any
 * order, because trying does not wait.
 *
 * Builds with a sanitizer check each lock as it is taken (os/thread.c) and stop the program at the
 * first one out of order, even if no other thread holds it. docs/architecture.md says what each
 * lock guards and which of them are held across a system call, and why. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The order of the store follows from what its threads do: the compact thread holds MERGE while it
 * flushes (FLUSH), a flush waits for appends at the GATE, an append fills a memtable (MEMTABLE,
 * PROFILES) while it queues the record (WAL). Locks from RULE on are held for a few instructions
 * only. */
#define SF_LOCK_RANKS(X)                                                                    \
    X(STORE_MOVE, "store/clickhouse: one start of a move at a time")                        \
    X(STORE_MERGE, "store/local: one merge, retention or erasure pass at a time")           \
    X(STORE_FLUSH, "store/local: one flush at a time")                                      \
    X(STORE_ERASE, "store/local: one change of the tombstones at a time")                   \
    X(STORE_GATE, "store/local: the generation; shared by appends, excluded by its switch") \
    X(STORE_MEMTABLE, "store/local: rows of one writer")                                    \
    X(STORE_PROFILES, "store/local: profiles since the last flush")                         \
    X(STORE_PROFILE_LIST, "store/local: which profiles are in memory and which in blocks")  \
    X(STORE_UNCOMMITTED, "store/local: files whose commit is not known")                    \
    X(STORE_TENANTS, "store/local: names and numbers of tenants")                           \
    X(STORE_KEEP, "store/local: verdicts, rule sets and pins")                              \
    X(STORE_SNAPSHOT, "store/local: the pointer to what there is to read")                  \
    X(STORE_LONG_TRACES, "store/local: traces longer than the margin of a search")          \
    X(STORE_DUPLICATES, "store/local: requests seen lately")                                \
    X(STORE_CATALOGUE, "store/local: the connection to SQLite")                             \
    X(STORE_RUNS, "store/local: lists of open and of dead blocks")                          \
    X(STORE_RUN, "store/local: the reader of one block")                                    \
    X(STORE_PARTIALS, "store/local: results that queries made of granules")                 \
    X(STORE_DOUBLES, "store/local: traces with a span in two blocks")                       \
    X(STORE_RULE, "store/local: the retention rule and its clock")                          \
    X(STORE_NUMBER, "store/local: next numbers of blocks, flushes and erasures")            \
    X(STORE_STATE, "store/local: why writes are refused")                                   \
    X(STORE_POOL, "store/local: arenas of decoded granules")                                \
    X(STORE_WAKE, "store/local: requests to its threads")                                   \
    X(STORE_SHIP, "store/clickhouse: what was shipped, and how that went")                  \
    X(STORE_UPKEEP, "store/clickhouse: what upkeep did")                                    \
    X(STORE_ACKS, "store/clickhouse: requests that wait for ClickHouse")                    \
    X(STORE_MEMO, "store/clickhouse: answers of shards to requests in hand")                \
    X(STORE_ABSENCE, "store/clickhouse: shards that did not answer in time")                \
    X(STORE_LINES, "store/clickhouse: idle connections of readers")                         \
    X(STORE_CHECKS, "store/clickhouse: which buckets have spans several times")             \
    X(WAL, "wal: queue and counters of the log")                                            \
    X(WAL_SLOTS, "wal: states of the log's files")                                          \
    X(SYMBOL, "symbol: names that were found, and requested files")                         \
    X(SCRAPE, "scrape: targets, and how scraping them went")                                \
    X(INTAKE_SERIES, "intake: label sets of each service")                                  \
    X(INTAKE_QUOTA, "intake: limits of tenants and services, and what is used of them")     \
    X(METER_COUNTERS, "meter: counters by tenant")                                          \
    X(METER_SPANS, "meter: series made of spans")                                           \
    X(METER_GRAPH, "meter: the service graph")                                              \
    X(METER_TARGETS, "meter: resources that send")                                          \
    X(SERVE_LANE, "serve: queries that wait for a thread")                                  \
    X(SERVE_LARGE, "serve: the turn of large bodies")                                       \
    X(SERVE_SELF_PROFILE, "serve: the profile of the server that is being taken")           \
    X(SERVE_SETTINGS, "serve: settings that readers keep")                                  \
    X(SERVE_RULES, "serve: recording rules and their sums")                                 \
    X(SERVE_SILENCES, "serve: one change of the silences at a time")                        \
    X(SERVE_ALERTS, "serve: rules of alerts and their state")                               \
    X(SERVE_DEPLOYS, "serve: deploys that were told")                                       \
    X(SERVE_CONTROL_FILE, "serve: one change of the control file at a time")                \
    X(SERVE_CONTROL, "serve: documents for collectors, who they are, and polls that wait")  \
    X(LISTEN_EXCHANGE, "listen: what one answer streams")                                   \
    X(LISTEN_LOOP, "listen: what other threads hand to a loop")                             \
    X(OS_QUEUE, "os: items of one queue")                                                   \
    X(APP_TOKENS, "app: the table of tokens")                                               \
    X(APP_USERS, "app: rules for people signed in by a proxy")                              \
    X(APP_BACKGROUND, "app: that threads in the background are to end")                     \
    X(APP_SERVER, "app: whether the store is open")                                         \
    X(APP_LOG, "app: faults said lately")                                                   \
    X(APART, "cli, tests and benchmarks: taken alone")

#define SF_LOCK_RANK(name, what) SF_LOCK_##name,
enum sf_lock_rank {
    SF_LOCK_ANY, /* zero-initialised: not checked */
    SF_LOCK_RANKS(SF_LOCK_RANK) SF_LOCKS
};
#undef SF_LOCK_RANK

enum { SF_LOCKS_HELD = 16 }; /* maximum held by one thread; far more than are used */

struct sf_locks_held { /* locks held by one thread, in the order taken */
    uint8_t n;
    uint8_t ranks[SF_LOCKS_HELD];
};

/* The held lock that forbids waiting for one of `rank`; SF_LOCK_ANY: none. */
enum sf_lock_rank sf_lock_order_breaks(const struct sf_locks_held *h, enum sf_lock_rank rank);
void sf_lock_order_add(struct sf_locks_held *h, enum sf_lock_rank rank);
void sf_lock_order_remove(struct sf_locks_held *h, enum sf_lock_rank rank); /* in any order */
const char *sf_lock_order_name(enum sf_lock_rank rank);                     /* constant text */

/* limits.h - every limit of the server, and the attack or mistake it stops.
 *
 * docs/limits.md is written from this file. Those marked (conf) are defaults that configuration
 * may change; the others are fixed. */
#pragma once

/* --- connections and requests (listen, http) --- */
#define SF_LIMIT_CONNECTIONS 4096 /* (conf) descriptors eaten by idle peers */
#define SF_LIMIT_CONNECTION_LEN \
    (64 * 1024) /* of memory, for which there may be one connection: peers that only connect */
#define SF_LIMIT_STREAMS 128 /* per HTTP/2 connection: one peer taking all work */
#define SF_LIMIT_STREAM_LEN                                                              \
    4608 /* what a request over HTTP/2 holds from its head on; all but the first of each \
            connection have space like bodies: requests that begin and never end */
#define SF_LIMIT_HEADER_LEN (64 * 1024) /* all headers of one request: header floods */
#define SF_LIMIT_HEADERS    128         /* fields of one request */
#define SF_LIMIT_TARGET_LEN \
    (400 * 1024) /* path and query of one request: a query text, every byte of it escaped */
#define SF_LIMIT_PARAM_LEN \
    (128 * 1024) /* one query parameter, decoded: as long as a query text may be */
#define SF_LIMIT_BODY_LEN     (64u << 20) /* (conf) a body on the wire, OTLP's recommended limit */
#define SF_LIMIT_INFLATED_LEN (64u << 20) /* (conf) a body inflated: compression bombs */
#define SF_LIMIT_BODY_MEMORY_LEN \
    (1u << 20) /* above it a body waits in a spool file, not in memory */
#define SF_LIMIT_BODIES_LEN \
    (16u << 20) /* bodies held in memory, all together; less with less memory */
#define SF_LIMIT_SPOOL_LEN (1u << 30) /* bodies held in spool files: a disk filled by uploads */
#define SF_LIMIT_ANSWERS_LEN \
    (32u << 20) /* responses that clients do not read: the longest unread are dropped first */
#define SF_LIMIT_LATE_LEN                                                   \
    (512u << 20) /* parts of answers in files, for clients that read slowly \
                  */
#define SF_LIMIT_HEADER_TIMEOUT_MS 10000 /* (conf) slow headers */
#define SF_LIMIT_BODY_TIMEOUT_MS \
    60000 /* (conf) slow bodies, and responses that clients do not read */
#define SF_LIMIT_IDLE_TIMEOUT_MS  300000 /* (conf) keep-alive without a request */
#define SF_LIMIT_TOTAL_TIMEOUT_MS 300000 /* (conf) one request from first byte to answer */
#define SF_LIMIT_H2_RESETS        200    /* resets a peer may send per 10 s: rapid reset */
#define SF_LIMIT_H2_CONTROL       1000   /* SETTINGS + PING per 10 s: control floods */

/* --- decoding (wire, decode) --- */
#define SF_LIMIT_NESTING    32  /* arrays and maps inside attribute values: recursion */
#define SF_LIMIT_JSON_DEPTH 512 /* JSON objects and arrays: a frame of a heap profile is two */
#define SF_LIMIT_SPANS      (1u << 20) /* spans of one request */
#define SF_LIMIT_ATTRS                                                                            \
    1024                                 /* (conf) attributes of one span, event, link, resource; \
                                          * the rest is dropped and counted */
#define SF_LIMIT_EVENTS      4096        /* events of one span, likewise */
#define SF_LIMIT_LINKS       1024        /* links of one span, likewise */
#define SF_LIMIT_KEY_LEN     1024        /* attribute key, cut and counted */
#define SF_LIMIT_VALUE_LEN   (64 * 1024) /* (conf) attribute value, cut and counted */
#define SF_LIMIT_NAME_LEN    4096 /* span, event, scope name; status message; cut and counted */
#define SF_LIMIT_FRAMES      2048 /* frames of one stack accepted by decoders */
#define SF_LIMIT_STACK_DEPTH 1024 /* (conf) frames of one stack kept */
#define SF_LIMIT_ARENA_LEN                                                \
    (96u << 20) /* decoded form of one request (address space; the sum of \
                 * all is held to its budget line) */
#define SF_LIMIT_SAMPLES       (1u << 20) /* samples of one profile: an empty one is two bytes */
#define SF_LIMIT_SAMPLE_TYPES  32         /* sample types of one profile */
#define SF_LIMIT_SAMPLE_LABELS 64 /* labels of one sample, the rest is dropped and counted */
#define SF_LIMIT_LINE_LEN \
    (4u << 20) /* one line of a profile in text, longer ones are dropped and counted */
#define SF_LIMIT_TRIE_WORK \
    (256u << 20)           /* characters of all paths of a trie: few bytes can spell very many */
#define SF_LIMIT_RATIO 200 /* inflated bytes of a profile per byte: compression bombs */
#define SF_LIMIT_RATIO_FLOOR_LEN \
    (4u << 20) /* inflated bytes that are fine at any ratio: short files repeat a lot */
#define SF_LIMIT_SERIES 5000 /* (conf) profile label sets of one service */
#define SF_LIMIT_LABELS 30   /* labels of one profile series */

/* --- limits of tenants and services --- */
#define SF_LIMIT_OVERRIDES_LEN  (1u << 20) /* the file of limits.overrides_file */
#define SF_LIMIT_OVERRIDE_NAMES 10000      /* tenants and services it names */
#define SF_LIMIT_QUOTA_TENANTS                                                                   \
    1024                            /* rates of tenants it does not name; further ones share one \
                                     */
#define SF_LIMIT_QUOTA_SERVICES 256 /* rates of a tenant's services; further ones share one */

/* --- log and store --- */
#define SF_LIMIT_RECORD_LEN (16u << 20) /* one log record */
#define SF_LIMIT_LOGGED_BODY_LEN \
    (8u << 20) /* a body logged as received; longer: normalised pieces */
#define SF_LIMIT_LOGGED_BATCH_LEN (128u << 20) /* all records of one request; replay holds them */
#define SF_LIMIT_SEGMENT_LEN      (64u << 20)  /* one log segment */
#define SF_LIMIT_GRANULE_ROWS     16384        /* span rows decoded at once */
#define SF_LIMIT_SHIP_ROWS        200000 /* rows of one batch for ClickHouse; one more request */
#define SF_LIMIT_SHIP_BATCH_LEN   (16u << 20) /* bytes of such a batch; one more request */
#define SF_LIMIT_SHIP_TABLE_LEN                                                            \
    (256u << 20)                      /* of one table of it; more: the record is set aside \
                                       */
#define SF_LIMIT_SHIP_KNOWN    262144 /* entries of dictionaries a node knows to be sent */
#define SF_LIMIT_SHIP_AGE_DAYS 31     /* a row's own time before its receipt; else that counts */
#define SF_LIMIT_SHIP_SET_ASIDE_LEN                                                      \
    (256u << 20)                         /* batches that ClickHouse refused; then: waits \
                                          */
#define SF_LIMIT_ADHOC_LEN   (16u << 20) /* one ad hoc profile, as it was uploaded */
#define SF_LIMIT_ADHOC_FILES 200         /* ad hoc profiles of a tenant; older ones make space */
#define SF_LIMIT_SETTINGS    1000        /* that readers keep; half of them of one tenant */
#define SF_LIMIT_SETTING_LEN 65536       /* bytes of the value of one */
#define SF_LIMIT_SETTINGS_TEXT_LEN \
    (2u << 20)                           /* of all, half of one tenant: each change writes all */
#define SF_LIMIT_TENANT_LEN 150          /* bytes of a tenant name */
#define SF_LIMIT_MEMORY_LEN (256u << 20) /* (conf) the server's memory */

/* --- metrics from spans (meter) --- */
#define SF_LIMIT_METER_SERIES            2000 /* (conf) service x operation x kind x status: ids in names */
#define SF_LIMIT_METER_STALE_MS          900000 /* a series without spans for so long is dropped */
#define SF_LIMIT_METER_SLACK_MS          30000 /* spans that ended further away: old data, wrong clocks */
#define SF_LIMIT_METER_EDGES             1000 /* (conf) edges of the service graph: ids in service names */
#define SF_LIMIT_METER_WAITING           10000      /* (conf) spans waiting for their other half */
#define SF_LIMIT_METER_WAITING_NAMES_LEN (4u << 20) /* bytes of their names: long service names */
#define SF_LIMIT_METER_WAIT_MS           10000      /* (conf) how long they wait */
#define SF_LIMIT_METER_HALVES            65536 /* of one request that go into the service graph */
#define SF_LIMIT_METER_TARGETS           1000  /* resources shown by traces_target_info */

/* --- metrics from profiles (recording rules) --- */
#define SF_LIMIT_RULES        1000 /* recording rules of all tenants */
#define SF_LIMIT_TENANT_RULES 25   /* recording rules of one tenant */
#define SF_LIMIT_RULES_TEXT_LEN \
    (1u << 20)                      /* bytes of all recording rules: each change writes all */
#define SF_LIMIT_RULE_SERIES  1000  /* label sets of one rule; further ones are counted */
#define SF_LIMIT_RULES_SERIES 20000 /* label sets of all rules */

/* --- requests waiting for a thread (serve) --- */
#define SF_LIMIT_INGEST_QUEUE     512  /* bodies waiting to be decoded; above: 429 */
#define SF_LIMIT_SPANS_WAIT_MS    2000 /* for memory, before a request with spans gets 429 */
#define SF_LIMIT_PROFILES_WAIT_MS 1000 /* likewise with profiles */
#define SF_LIMIT_QUERY_QUEUE      256  /* queries waiting in a lane; above: 429 */
#define SF_LIMIT_CLIENT_QUERIES   64   /* of them of one client; above: 429 */
#define SF_LIMIT_LARGE_BODY_LEN \
    (8u << 20) /* bodies above it are decoded one at a time: memory for all threads at once */

#define SF_LIMIT_SELF_PROFILE_S 120 /* of the server itself: a thread and a caller held so long */

/* --- control of collectors (serve) --- */
#define SF_LIMIT_CONTROL_DOCS    1024 /* documents; half of them of one tenant */
#define SF_LIMIT_CONTROL_CHANGES 1024 /* of the log of changes; a quarter of them of one tenant */
#define SF_LIMIT_CONTROL_BODY    8192 /* bytes of one document */
#define SF_LIMIT_CONTROL_WAITS   1024 /* collectors whose poll waits; others are answered at once */
#define SF_LIMIT_CONTROL_WAIT_S  60   /* of one poll */
#define SF_LIMIT_COLLECTORS      4096 /* that are remembered; half of them of one tenant */
#define SF_LIMIT_CAPTURES        32   /* under way; a quarter of them of one tenant */
#define SF_LIMIT_CAPTURE_S       600  /* of one capture */

/* --- keep by outcome (join, store) --- */
#define SF_LIMIT_VERDICT_TRACES \
    (1u << 18) /* kept of one hour; an hour with more is kept whole: memory of a merge */
#define SF_LIMIT_VERDICT_SPANS (1u << 19) /* of these, and as many local roots, likewise */
#define SF_LIMIT_KEEP_SERVICES 256  /* with a rule of their own: a configuration without end */
#define SF_LIMIT_RULE_SETS     1000 /* remembered: a configuration that changes every hour */
#define SF_LIMIT_PINS          1000 /* of one tenant: all traces pinned by a script */
#define SF_LIMIT_PIN_DAYS      365  /* of one pin: a forgotten pin */
#define SF_LIMIT_PIN_NOTE_LEN  200  /* bytes of the words that say what a pin is for */

/* --- alerts (serve) --- */
#define SF_LIMIT_ALERT_RULES     256   /* each is a query at every evaluation */
#define SF_LIMIT_ALERT_SERIES    100   /* alerts of one rule, the rest is counted: by() over ids */
#define SF_LIMIT_ALERT_LABELS    16    /* of one rule, and as many annotations */
#define SF_LIMIT_ALERT_TEXT_LEN  4096  /* one text of a rule */
#define SF_LIMIT_ALERT_RECEIVERS 16    /* each may have a request under way */
#define SF_LIMIT_ALERT_PINS      5     /* traces that an alert pins: evidence, and not all of it */
#define SF_LIMIT_ALERT_PIN_DAYS  7     /* how long: alerts fire again and again */
#define SF_LIMIT_ALERT_MOMENTS   500   /* of the past, in one trial of a rule */
#define SF_LIMIT_ALERT_WINDOWS   10000 /* likewise, where one query counts for many of them */

#define SF_LIMIT_WATCH_TENANTS    16   /* with rules of the kind watch: each reads each minute */
#define SF_LIMIT_WATCH_SERVICES   100  /* that the built-in alerts examine; each is 50 KiB */
#define SF_LIMIT_WATCH_OPERATIONS 8    /* of each, the first that have requests: names may be ids */
#define SF_LIMIT_ALERT_HISTORY    1000 /* alerts that fired, remembered; the oldest go */
#define SF_LIMIT_SILENCES         1000 /* half of them of one tenant: a script that silences each alert */
#define SF_LIMIT_SILENCE_MATCHERS 16 /* of one silence */
#define SF_LIMIT_SILENCE_PATTERNS \
    1000 /* of all, half of them of one tenant: compiled, a kilobyte to a dozen each */
#define SF_LIMIT_SILENCE_TEXT_LEN 4096  /* bytes of its texts */
#define SF_LIMIT_SILENCE_BODY_LEN 65536 /* of one request for a silence */
#define SF_LIMIT_SILENCE_DAYS     365   /* of one silence: a forgotten silence */

/* --- deploys (serve) --- */
#define SF_LIMIT_DEPLOYS \
    1000 /* posted and stored; the oldest of the tenant with most are evicted */
#define SF_LIMIT_DEPLOY_TEXT_LEN 4096  /* bytes of the texts of one */
#define SF_LIMIT_DEPLOY_BODY_LEN 65536 /* of one request that tells of a deploy */

/* --- scraping (scrape) --- */
#define SF_LIMIT_SCRAPE_JOBS     256   /* a configuration without end */
#define SF_LIMIT_SCRAPE_STATIC   1000  /* targets written into one scrape */
#define SF_LIMIT_SCRAPE_TARGETS  10000 /* addresses to ask, of all scrapes, the rest is counted */
#define SF_LIMIT_SCRAPE_LABELS   32    /* of one target */
#define SF_LIMIT_SCRAPE_SOURCES  16    /* labels that one rule of relabelling joins */
#define SF_LIMIT_SCRAPE_TEXT_LEN 4096  /* one text of a scrape or a label */
#define SF_LIMIT_SCRAPE_AT_ONCE  64    /* requests under way: sockets, and bodies in memory */
#define SF_LIMIT_SCRAPE_PER_HOST 2     /* of these to one address: a target that is slow or huge */
#define SF_LIMIT_SCRAPE_BODY_LEN (32u << 20) /* one answer of a target, as sent and inflated */
#define SF_LIMIT_SCRAPE_FLIGHT_LEN \
    (64u << 20) /* answers above 1 MiB that are being read, together: huge targets */
#define SF_LIMIT_SCRAPE_KEPT_LEN \
    (32u                         \
     << 20) /* answers kept for the next difference, together; without one totals are left out */
#define SF_LIMIT_SCRAPE_SD_LEN (2u << 20) /* one answer or file of a service discovery */

/* --- names of code (symbol) --- */
#define SF_LIMIT_SYMBOL_FILE_LEN                                    \
    (512u << 20) /* (conf) one debug file: a disk filled by uploads \
                  */
#define SF_LIMIT_SYMBOL_INFLATED_LEN \
    (96u << 20) /* compressed debug information of one file, inflated */
#define SF_LIMIT_SYMBOL_NAMES_LEN  (32u << 20) /* names that were found, kept for the next query */
#define SF_LIMIT_SYMBOL_MODULE_LEN (12u << 20) /* of one file: debug files that name all of it */
#define SF_LIMIT_SYMBOL_MODULES                                       \
    4096 /* files known or requested: profiles with made-up build ids \
          */
#define SF_LIMIT_SYMBOL_ADDRESSES 65536 /* looked up in one file at a time */
#define SF_LIMIT_SYMBOL_WAIT_MS   1000 /* (conf) a query waits for names from files that are here */
#define SF_LIMIT_SYMBOL_FETCH_MS  60000 /* (conf) one answer of a debuginfod server: slow ones */
#define SF_LIMIT_SYMBOL_ABSENT_S \
    3600                           /* until a server that did not have the file is queried again */
#define SF_LIMIT_SYMBOL_RETRY_S 60 /* until a server that failed is queried again */

/* --- queries --- */
#define SF_LIMIT_QUERY_LEN        (128 * 1024) /* query text */
#define SF_LIMIT_QUERY_MEMORY_LEN (64u << 20)  /* (conf) one query */
#define SF_LIMIT_QUERY_MS         30000        /* (conf) one query */
#define SF_LIMIT_SEARCH_SLACK_S   600          /* around its range */
#define SF_LIMIT_METRICS_RANGE_S  86400        /* one metrics query: a century of steps */
#define SF_LIMIT_DEPLOYS_RANGE_S  2678400      /* versions of 31 days: a metrics query for each */
#define SF_LIMIT_METRICS_STEPS    10000        /* of one metrics query: steps of a nanosecond */
#define SF_LIMIT_METRICS_SERIES \
    1000 /* series of one metrics answer, the rest is cut, which is reported: by() over ids */
#define SF_LIMIT_METRICS_SAMPLES                                                          \
    1000000 /* series times steps of one metrics answer, likewise: answers of hundreds of \
             * megabytes */
#define SF_LIMIT_FINDINGS_SERVICES \
    32 /* services of one answer about what stands out in each: hundreds, each with a join */
#define SF_LIMIT_PARTIAL_LEN                                                                     \
    (64 * 1024) /* what one granule adds to a metrics query, above it is not kept: by() over ids \
                 */
#define SF_LIMIT_PARTIAL_QUESTIONS                                                       \
    128 /* queries whose results are kept, the oldest go: a query that is never repeated \
         */
#define SF_LIMIT_METRICS_QUERIES 64 /* metrics queries in one expression: each reads everything */
#define SF_LIMIT_MCP_BODY_LEN    65536 /* one message of an assistant: none needs a long one */
#define SF_LIMIT_MCP_TEXT_LEN \
    20000 /* text of one answer to an assistant; the rest is cut, which is reported */
#define SF_LIMIT_SOURCE_LEN      (4u << 20) /* a source file the page shows lines of: generated ones */
#define SF_LIMIT_SOURCE_LINES    1000       /* lines of one answer of source */
#define SF_LIMIT_SOURCE_LINE_LEN 1024       /* one line of source, the rest is cut: minified code */
#define SF_LIMIT_LINK_LEN \
    2048 /* template of links out of the page: longer ones some browsers cut */

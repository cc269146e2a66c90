/* limits.h - every limit of the server, and the attack or mistake it stops.
 *
 * docs/limits.md is written from this file. Those marked (conf) are defaults that configuration
 * may change; the others are fixed. */
#pragma once

/* --- connections and requests (listen, http) --- */
#define SF_LIMIT_CONNECTIONS \
    4096 /* (conf) open connections; stops idle peers from using up all descriptors */
#define SF_LIMIT_CONNECTION_LEN \
    (64 * 1024) /* memory of the budget per allowed connection; stops peers that only connect */
#define SF_LIMIT_STREAMS \
    128 /* concurrent requests of one HTTP/2 connection; stops one peer from taking all threads */
#define SF_LIMIT_STREAM_LEN                                                                     \
    4608 /* memory of an HTTP/2 request from its headers on, counted like a body except for the \
            first request of a connection; stops requests that begin and never end */
#define SF_LIMIT_HEADER_LEN (64 * 1024) /* all headers of one request; stops header floods */
#define SF_LIMIT_HEADERS    128         /* header fields of one request */
#define SF_LIMIT_TARGET_LEN                                                                      \
    (400 * 1024) /* path and query string of one request; fits the longest query text with every \
                    byte escaped */
#define SF_LIMIT_PARAM_LEN \
    (128 * 1024)                      /* one decoded query parameter; fits the longest query text */
#define SF_LIMIT_BODY_LEN (64u << 20) /* (conf) a body as sent; OTLP's recommended limit */
#define SF_LIMIT_INFLATED_LEN                                          \
    (64u << 20) /* (conf) a decompressed body; stops compression bombs \
                 */
#define SF_LIMIT_BODY_MEMORY_LEN \
    (1u << 20) /* longer bodies are stored in a spool file, not in memory */
#define SF_LIMIT_BODIES_LEN \
    (16u << 20) /* all bodies in memory together; less on a server with less memory */
#define SF_LIMIT_SPOOL_LEN \
    (1u << 30) /* all bodies in spool files together; stops uploads that fill the disk */
#define SF_LIMIT_ANSWERS_LEN                                                                 \
    (32u << 20) /* responses that clients have not read yet; above it the longest unread are \
                   dropped; less on a server with less memory */
#define SF_LIMIT_LATE_LEN                                                                          \
    (512u << 20)                         /* parts of responses that wait in files for slow clients \
                                          */
#define SF_LIMIT_HEADER_TIMEOUT_MS 10000 /* (conf) time to send the headers; stops slow senders */
#define SF_LIMIT_BODY_TIMEOUT_MS                                                                 \
    60000 /* (conf) time without progress while a body is sent or a response is read; stops slow \
             clients */
#define SF_LIMIT_IDLE_TIMEOUT_MS \
    300000 /* (conf) time a connection may stay open without a request */
#define SF_LIMIT_TOTAL_TIMEOUT_MS                                  \
    300000 /* (conf) one request from its first byte to the answer \
            */
#define SF_LIMIT_H2_RESETS \
    200 /* stream resets a peer may send in 10 s; stops "rapid reset" attacks */
#define SF_LIMIT_H2_CONTROL 1000 /* SETTINGS and PING frames in 10 s; stops control floods */

/* --- decoding (wire, decode) --- */
#define SF_LIMIT_NESTING 32 /* nested arrays and maps in attribute values; stops deep recursion */
#define SF_LIMIT_JSON_DEPTH \
    512 /* nested JSON objects and arrays; a frame of a heap profile takes two levels */
#define SF_LIMIT_SPANS (1u << 20) /* spans of one request */
#define SF_LIMIT_ATTRS                                                                      \
    1024 /* (conf) attributes of one span, event, link or resource; the rest is dropped and \
            counted */
#define SF_LIMIT_EVENTS  4096 /* events of one span; the rest is dropped and counted */
#define SF_LIMIT_LINKS   1024 /* links of one span; the rest is dropped and counted */
#define SF_LIMIT_KEY_LEN 1024 /* an attribute key; longer ones are truncated and counted */
#define SF_LIMIT_VALUE_LEN \
    (64 * 1024) /* (conf) an attribute value; longer ones are truncated and counted */
#define SF_LIMIT_NAME_LEN                                                                      \
    4096 /* name of a span, event or scope, or a status message; longer ones are truncated and \
            counted */
#define SF_LIMIT_FRAMES      2048 /* frames of one stack that decoders accept */
#define SF_LIMIT_STACK_DEPTH 1024 /* (conf) frames of one stack that are stored */
#define SF_LIMIT_ARENA_LEN                                                                   \
    (96u << 20) /* decoded form of one request, as address space; the memory of all requests \
                   together has a share of the budget */
#define SF_LIMIT_SAMPLES                                                                           \
    (1u << 20) /* samples of one profile; stops small files with very many: an empty sample is two \
                  bytes */
#define SF_LIMIT_SAMPLE_TYPES  32 /* sample types of one profile */
#define SF_LIMIT_SAMPLE_LABELS 64 /* labels of one sample; the rest is dropped and counted */
#define SF_LIMIT_LINE_LEN \
    (4u << 20) /* one line of a profile in a text format; longer ones are dropped and counted */
#define SF_LIMIT_TRIE_WORK                                                                         \
    (256u << 20) /* bytes of all names and stacks of a trie; stops small files that expand to very \
                    long ones */
#define SF_LIMIT_RATIO 200 /* compression ratio of a profile; stops compression bombs */
#define SF_LIMIT_RATIO_FLOOR_LEN                                                                  \
    (4u << 20) /* decompressed length that is accepted at any ratio, because short files compress \
                  well */
#define SF_LIMIT_SERIES 5000 /* (conf) profile label sets of one service */
#define SF_LIMIT_LABELS 30   /* labels of one profile series */

/* --- limits of tenants and services --- */
#define SF_LIMIT_OVERRIDES_LEN  (1u << 20) /* the file of limits.overrides_file */
#define SF_LIMIT_OVERRIDE_NAMES 10000      /* tenants and services in that file */
#define SF_LIMIT_QUOTA_TENANTS \
    1024 /* tenants outside that file with a rate of their own; further ones share one */
#define SF_LIMIT_QUOTA_SERVICES \
    256 /* services of a tenant with a rate of their own; further ones share one */

/* --- log and store --- */
#define SF_LIMIT_RECORD_LEN (16u << 20) /* one log record */
#define SF_LIMIT_LOGGED_BODY_LEN                                                                 \
    (8u << 20) /* a body that is logged as received; longer ones are logged as normalised pieces \
                */
#define SF_LIMIT_LOGGED_BATCH_LEN \
    (128u << 20) /* all log records of one request, which replay holds in memory */
#define SF_LIMIT_SEGMENT_LEN  (64u << 20) /* one log segment */
#define SF_LIMIT_GRANULE_ROWS 16384       /* span rows decoded at once */
#define SF_LIMIT_SHIP_ROWS \
    200000 /* rows of one batch for ClickHouse; a batch ends with the request that exceeds it */
#define SF_LIMIT_SHIP_BATCH_LEN \
    (128u << 20) /* bytes of one batch for ClickHouse before they are compressed; likewise */
#define SF_LIMIT_SHIP_HELD_LEN \
    (24u << 20) /* bytes of one batch that the node holds, most of them compressed; likewise */
#define SF_LIMIT_SHIP_TABLE_LEN \
    (256u << 20) /* bytes of one table in such a batch; a record with more is set aside */
#define SF_LIMIT_SHIP_KNOWN 262144 /* dictionary entries that a node remembers as already sent */
#define SF_LIMIT_SHIP_AGE_DAYS                                                                     \
    31 /* how much older than its receipt a row may be; for older rows the time of receipt is used \
        */
#define SF_LIMIT_SHIP_SET_ASIDE_LEN                                                             \
    (256u << 20) /* batches that ClickHouse refused and that are set aside; when full, shipping \
                    waits */
#define SF_LIMIT_ADHOC_LEN   (16u << 20) /* one ad hoc profile as uploaded */
#define SF_LIMIT_ADHOC_FILES 200         /* ad hoc profiles of a tenant; the oldest are deleted */
#define SF_LIMIT_SETTINGS    1000        /* stored settings of users, half of them of one tenant */
#define SF_LIMIT_SETTING_LEN 65536       /* the value of one stored setting */
#define SF_LIMIT_SETTINGS_TEXT_LEN                                                                \
    (2u << 20) /* all stored settings, half of them of one tenant; each change writes all of them \
                */
#define SF_LIMIT_TENANT_LEN 150          /* a tenant name */
#define SF_LIMIT_MEMORY_LEN (256u << 20) /* (conf) the server's memory */

/* --- metrics from spans (meter) --- */
#define SF_LIMIT_METER_SERIES \
    2000 /* (conf) series: service x operation x kind x status; stops names that contain ids */
#define SF_LIMIT_METER_STALE_MS 900000 /* a series without spans for this time is dropped */
#define SF_LIMIT_METER_SLACK_MS                                                                \
    30000 /* spans that ended longer ago, or further in the future, are not counted: old data, \
             wrong clocks */
#define SF_LIMIT_METER_EDGES \
    1000 /* (conf) edges of the service graph; stops service names that contain ids */
#define SF_LIMIT_METER_WAITING \
    10000 /* (conf) client and server spans that wait for their counterpart */
#define SF_LIMIT_METER_WAITING_NAMES_LEN \
    (4u << 20)                       /* service names of the waiting spans; stops long names */
#define SF_LIMIT_METER_WAIT_MS 10000 /* (conf) how long a span waits for its counterpart */
#define SF_LIMIT_METER_HALVES \
    65536 /* client and server spans of one request that enter the service graph */
#define SF_LIMIT_METER_TARGETS 1000 /* resources shown by traces_target_info */

/* --- metrics from profiles (recording rules) --- */
#define SF_LIMIT_RULES        1000 /* recording rules of all tenants */
#define SF_LIMIT_TENANT_RULES 25   /* recording rules of one tenant */
#define SF_LIMIT_RULES_TEXT_LEN                                                            \
    (1u << 20)                      /* all recording rules; each change writes all of them \
                                     */
#define SF_LIMIT_RULE_SERIES  1000  /* label sets of one rule; further ones are counted */
#define SF_LIMIT_RULES_SERIES 20000 /* label sets of all rules */

/* --- requests waiting for a thread (serve) --- */
#define SF_LIMIT_INGEST_QUEUE \
    512 /* requests with data that wait to be decoded; further ones get 429 */
#define SF_LIMIT_SPANS_WAIT_MS \
    2000 /* how long a request with spans waits for memory before it gets 429 */
#define SF_LIMIT_PROFILES_WAIT_MS \
    1000 /* how long a request with profiles waits for memory before it gets 429 */
#define SF_LIMIT_QUERY_QUEUE    256 /* queries that wait in one lane; further ones get 429 */
#define SF_LIMIT_CLIENT_QUERIES 64  /* waiting queries of one client; further ones get 429 */
#define SF_LIMIT_LARGE_BODY_LEN                                                                 \
    (8u << 20) /* longer bodies are decoded one at a time; stops all threads from holding large \
                  ones at once */

#define SF_LIMIT_SELF_PROFILE_S \
    120 /* length of a profile of the server itself, which occupies a thread */

/* --- control of collectors (serve) --- */
#define SF_LIMIT_CONTROL_DOCS 1024 /* documents, half of them of one tenant */
#define SF_LIMIT_CONTROL_CHANGES \
    1024 /* entries of the log of changes, a quarter of them of one tenant */
#define SF_LIMIT_CONTROL_BODY 8192 /* bytes of one document */
#define SF_LIMIT_CONTROL_WAITS \
    1024 /* waiting polls of collectors; further ones are answered at once */
#define SF_LIMIT_CONTROL_WAIT_S 60   /* how long one poll waits */
#define SF_LIMIT_COLLECTORS     4096 /* collectors remembered, half of them of one tenant */
#define SF_LIMIT_CAPTURES       32   /* running captures, a quarter of them of one tenant */
#define SF_LIMIT_CAPTURE_S      600  /* length of one capture */

/* --- keep by outcome (join, store) --- */
#define SF_LIMIT_VERDICT_TRACES                                                                    \
    (1u << 18) /* traces whose detail is kept, per hour of data; with more, all detail of the hour \
                  is kept. Bounds the memory of a merge */
#define SF_LIMIT_VERDICT_SPANS \
    (1u << 19) /* spans of these traces, and as many local roots; same effect */
#define SF_LIMIT_KEEP_SERVICES \
    256 /* services with a retention rule of their own; stops endless configurations */
#define SF_LIMIT_RULE_SETS                                                                  \
    1000 /* earlier sets of retention rules that are remembered; stops a configuration that \
            changes every hour */
#define SF_LIMIT_PINS         1000 /* pinned traces of one tenant; stops scripts that pin all */
#define SF_LIMIT_PIN_DAYS     365  /* how long a trace may be pinned; stops forgotten pins */
#define SF_LIMIT_PIN_NOTE_LEN 200  /* the note of a pin */

/* --- alerts (serve) --- */
#define SF_LIMIT_ALERT_RULES 256 /* alert rules; each is a query at every evaluation */
#define SF_LIMIT_ALERT_SERIES                                           \
    100 /* alerts of one rule, the rest is counted; stops by() over ids \
         */
#define SF_LIMIT_ALERT_LABELS    16   /* labels of one rule, and as many annotations */
#define SF_LIMIT_ALERT_TEXT_LEN  4096 /* one text of a rule */
#define SF_LIMIT_ALERT_RECEIVERS 16   /* receivers; each may have an unanswered request */
#define SF_LIMIT_ALERT_PINS      5    /* traces that one alert pins as evidence */
#define SF_LIMIT_ALERT_PIN_DAYS  7    /* how long an alert pins them; alerts may fire often */
#define SF_LIMIT_ALERT_MOMENTS   500  /* evaluations in one trial of a rule on past data */
#define SF_LIMIT_ALERT_WINDOWS \
    10000 /* evaluations in one trial when one query covers many of them */

#define SF_LIMIT_WATCH_TENANTS                                         \
    16 /* tenants with built-in alerts; for each, every minute is read \
        */
#define SF_LIMIT_WATCH_SERVICES \
    100 /* services that the built-in alerts observe; each takes 50 KiB */
#define SF_LIMIT_WATCH_OPERATIONS \
    8 /* operations observed per service, in order of appearance; stops names that contain ids */
#define SF_LIMIT_ALERT_HISTORY 1000 /* past alerts that are remembered; the oldest are dropped */
#define SF_LIMIT_SILENCES \
    1000 /* silences, half of them of one tenant; stops a script that silences each alert */
#define SF_LIMIT_SILENCE_MATCHERS 16 /* matchers of one silence */
#define SF_LIMIT_SILENCE_PATTERNS                                                                  \
    1000 /* regular expressions of all silences, half of them of one tenant; each takes 1 to 12 KB \
          */
#define SF_LIMIT_SILENCE_TEXT_LEN 4096  /* all texts of a silence */
#define SF_LIMIT_SILENCE_BODY_LEN 65536 /* one request that creates a silence */
#define SF_LIMIT_SILENCE_DAYS     365   /* how long a silence may last; stops forgotten silences */

/* --- deploys (serve) --- */
#define SF_LIMIT_DEPLOYS \
    1000 /* posted deploys that are stored; the oldest of the tenant with the most are dropped */
#define SF_LIMIT_DEPLOY_TEXT_LEN 4096  /* all texts of a deploy */
#define SF_LIMIT_DEPLOY_BODY_LEN 65536 /* one request that reports a deploy */

/* --- scraping (scrape) --- */
#define SF_LIMIT_SCRAPE_JOBS     256   /* scrape jobs; stops endless configurations */
#define SF_LIMIT_SCRAPE_STATIC   1000  /* targets listed in one job */
#define SF_LIMIT_SCRAPE_TARGETS  10000 /* targets of all jobs; the rest is counted */
#define SF_LIMIT_SCRAPE_LABELS   32    /* labels of one target */
#define SF_LIMIT_SCRAPE_SOURCES  16    /* source labels of one relabelling rule */
#define SF_LIMIT_SCRAPE_TEXT_LEN 4096  /* one text of a job, or one label */
#define SF_LIMIT_SCRAPE_AT_ONCE  64 /* concurrent scrapes; bounds sockets and answers in memory */
#define SF_LIMIT_SCRAPE_PER_HOST \
    2 /* concurrent scrapes of one address; bounds the effect of a slow or huge target */
#define SF_LIMIT_SCRAPE_BODY_LEN                                    \
    (32u << 20) /* one answer of a target, as sent and decompressed \
                 */
#define SF_LIMIT_SCRAPE_FLIGHT_LEN \
    (64u << 20) /* answers above 1 MiB that are being read, together; stops huge targets */
#define SF_LIMIT_SCRAPE_KEPT_LEN                                                                  \
    (32u << 20) /* previous answers, which are needed for the next difference, together; above it \
                   totals are left out */
#define SF_LIMIT_SCRAPE_SD_LEN (2u << 20) /* one answer or file of a service discovery */

/* --- names of code (symbol) --- */
#define SF_LIMIT_SYMBOL_FILE_LEN \
    (512u << 20) /* (conf) one debug file; stops uploads that fill the disk */
#define SF_LIMIT_SYMBOL_INFLATED_LEN (96u << 20) /* decompressed debug information of one file */
#define SF_LIMIT_SYMBOL_NAMES_LEN    (32u << 20) /* cache of function names */
#define SF_LIMIT_SYMBOL_MODULE_LEN   (12u << 20) /* cached function names of one file */
#define SF_LIMIT_SYMBOL_MODULES \
    4096 /* files that are known or requested; stops profiles with invented build ids */
#define SF_LIMIT_SYMBOL_ADDRESSES 65536 /* addresses looked up in one file at a time */
#define SF_LIMIT_SYMBOL_WAIT_MS                                      \
    1000 /* (conf) how long a query waits for names from local files \
          */
#define SF_LIMIT_SYMBOL_FETCH_MS \
    60000 /* (conf) one answer of a debuginfod server; stops slow servers */
#define SF_LIMIT_SYMBOL_ABSENT_S \
    3600 /* time until a server that did not have a file is asked for it again */
#define SF_LIMIT_SYMBOL_RETRY_S 60 /* time until a server that failed is asked again */

/* --- queries --- */
#define SF_LIMIT_QUERY_LEN        (128 * 1024) /* query text */
#define SF_LIMIT_QUERY_MEMORY_LEN (64u << 20)  /* (conf) memory of one query */
#define SF_LIMIT_QUERY_MS         30000        /* (conf) duration of one query */
#define SF_LIMIT_SEARCH_SLACK_S \
    600 /* time around the range of a search in which parts of its traces are found */
#define SF_LIMIT_METRICS_RANGE_S 86400 /* range of one metrics query */
#define SF_LIMIT_DEPLOYS_RANGE_S \
    2678400 /* range in which versions are detected; each day is a metrics query */
#define SF_LIMIT_METRICS_STEPS 10000 /* steps of one metrics query; stops steps of a nanosecond */
#define SF_LIMIT_METRICS_SERIES                                                                  \
    1000 /* series of one metrics answer, the rest is left out and reported; stops by() over ids \
          */
#define SF_LIMIT_METRICS_SAMPLES                                                                  \
    1000000 /* series times steps of one metrics answer, the rest is left out and reported; stops \
               answers of hundreds of megabytes */
#define SF_LIMIT_FINDINGS_SERVICES \
    32 /* services in one call for the findings of each service; each needs a join */
#define SF_LIMIT_PARTIAL_LEN                                                                      \
    (64 * 1024) /* partial result of a granule or a group of granules for a metrics query; longer \
                   ones are not cached; stops by() over ids */
#define SF_LIMIT_PARTIAL_QUESTIONS \
    128 /* queries whose partial results are cached; the oldest are dropped */
#define SF_LIMIT_METRICS_QUERIES \
    64 /* metrics queries in one expression; each reads all data of the range */
#define SF_LIMIT_MCP_BODY_LEN 65536 /* one message of an assistant */
#define SF_LIMIT_MCP_TEXT_LEN \
    20000 /* text of one answer to an assistant; the rest is cut and reported */
#define SF_LIMIT_SOURCE_LEN \
    (4u << 20) /* a source file of which the page shows lines; stops generated files */
#define SF_LIMIT_SOURCE_LINES 1000 /* lines of one answer with source code */
#define SF_LIMIT_SOURCE_LINE_LEN \
    1024                       /* one line of source code, the rest is cut; stops minified code */
#define SF_LIMIT_LINK_LEN 2048 /* template of an external link; some browsers cut longer URLs */

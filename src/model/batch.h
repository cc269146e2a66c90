/* batch.h - one accepted request, as given to the store.
 *
 * Built by decode, completed by intake (ids checked, values truncated, secrets replaced, tenant
 * set), given to the store. It owns one arena; rows and log body are there or in `body`, which it
 * also owns. A request too large to hold decoded is a chain of pieces: logged together, replayed
 * all or none, acknowledged once. Such pieces have no rows; the store reads these from the logged
 * form through the replay function, one piece at a time. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "model/profile.h"
#include "model/span.h"

enum sf_log_kind { /* on disk: never renumber */
                   SF_LOG_OTLP_TRACES_PB = 1,
                   SF_LOG_OTLP_TRACES_JSON = 2,
                   SF_LOG_OTLP_PROFILES_PB = 3,
                   SF_LOG_OTLP_PROFILES_JSON = 4,
                   SF_LOG_PUSH = 5,
                   SF_LOG_BATCH = 16,       /* the normalised form of model/batch_codec.h */
                   SF_LOG_PROFILES = 17,    /* the form of model/profile_codec.h */
                   SF_LOG_PROFILE_SENT = 18 /* as received: decode/profile_sent.h */
};

enum sf_log_encoding { SF_LOG_PLAIN = 0, SF_LOG_GZIP = 1, SF_LOG_ZSTD = 2 };

/* A request as stored in the log, and as given to replay. */
struct sf_logged {
    uint8_t kind;     /* enum sf_log_kind */
    uint8_t encoding; /* enum sf_log_encoding of body */
    uint32_t tenant;
    uint32_t decoded_len; /* decompressed length of the body; 0: unknown */
    int64_t recv_ns;      /* unix time of receipt */
    sf_bytes meta; /* key\0value\0 pairs the decoder needs: version, rejected items, parameters */
    sf_bytes body;
};

enum { SF_BATCH_META_LEN = 128 };

struct sf_batch {
    struct sf_batch *next; /* the next piece of the same request, or NULL; owned */
    uint64_t dup_hash;     /* hash of (tenant, kind, parameters, body); 0: never treated as a
                            * repeat */
    struct sf_logged log;
    const struct sf_span_batch *spans;       /* NULL: none, or to be replayed from `log` */
    const struct sf_profile_batch *profiles; /* NULL: none, or to be replayed */
    bool is_replay_only;                     /* has no rows: replay `log` to get them */
    struct sf_arena arena;                   /* owned */
    char meta[SF_BATCH_META_LEN];            /* memory for log.meta */
    struct sf_buf body;  /* owned; memory of log.body, when it is not in the arena */
    struct sf_buf plain; /* owned; memory of the rows' strings, when in neither of the two */
};

struct sf_batch *sf_batch_new(size_t arena_cap); /* NULL: no memory */
void sf_batch_free(struct sf_batch *b);          /* with its pieces; NULL is fine */
/* To be called when the rows of all pieces were copied: frees memory that only they need; what
 * `log` points to stays. Another thread may read `log` meanwhile, and nothing else. */
void sf_batch_drop_rows(struct sf_batch *b);

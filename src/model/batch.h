/* batch.h - one accepted request on its way into the store.
 *
 * Made by decode, finished by intake (ids checked, values cut, secrets replaced, tenant known),
 * given to the store. It owns one arena; rows and log body live there or in `body`, which goes
 * with it. A request too large to hold decoded is a chain of pieces: logged together, replayed all
 * or none, acknowledged once. Such pieces come without rows; the store gets those from the logged
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
                   SF_LOG_BATCH = 16,   /* the normalised form of model/batch_codec.h */
                   SF_LOG_PROFILES = 17 /* that of model/profile_codec.h */
};

enum sf_log_encoding { SF_LOG_PLAIN = 0, SF_LOG_GZIP = 1, SF_LOG_ZSTD = 2 };

/* What the log keeps of a request, and what replay gets back. */
struct sf_logged {
    uint8_t kind;     /* enum sf_log_kind */
    uint8_t encoding; /* enum sf_log_encoding of body */
    uint32_t tenant;
    uint32_t decoded_len; /* of the body inflated; 0 unknown */
    int64_t recv_ns;      /* unix time of receipt */
    sf_bytes meta; /* key\0value\0 pairs the decoder needs: version, rejected items, parameters */
    sf_bytes body;
};

enum { SF_BATCH_META_LEN = 128 };

struct sf_batch {
    struct sf_batch *next; /* the next piece of the same request, or NULL; owned */
    uint64_t dup_hash;     /* of (tenant, kind, parameters, body); 0: never taken for a repeat */
    struct sf_logged log;
    const struct sf_span_batch *spans;       /* NULL: none, or to be replayed from `log` */
    const struct sf_profile_batch *profiles; /* likewise */
    bool is_replay_only;                     /* rows are not here: replay `log` to get them */
    struct sf_arena arena;                   /* owned */
    char meta[SF_BATCH_META_LEN];            /* space for what log.meta points to */
    struct sf_buf body;  /* owned; what log.body points into, when it is not in the arena */
    struct sf_buf plain; /* owned; what the rows point into, when that is neither of the two */
};

struct sf_batch *sf_batch_new(size_t arena_cap); /* NULL: no memory */
void sf_batch_free(struct sf_batch *b);          /* with its pieces; NULL is fine */
/* The rows of all pieces were copied: what only they need is returned, what `log` points into
 * stays. Another thread may read `log` meanwhile, and nothing else. */
void sf_batch_drop_rows(struct sf_batch *b);

#include "store/clickhouse/answer_memo.h"

#include <string.h>

#include "base/heap.h"

/* One request needs a few dozen answers, and a few requests run at once. */
enum { MAX_ENTRIES = 64, MAX_LEN = 128 << 10 };

struct sf_memo_entry {
    int64_t begun_ns; /* 0: unused */
    uint32_t shard;
    size_t question_len, len;
    uint8_t *bytes; /* the query, then the answer */
};

void sf_answer_memo_init(struct sf_answer_memo *m)
{
    *m = (struct sf_answer_memo){0};
    sf_mutex_init(&m->lock, SF_LOCK_STORE_MEMO);
}

void sf_answer_memo_done(struct sf_answer_memo *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        sf_heap_free(m->list[i].bytes);
    sf_heap_free(m->list);
    sf_mutex_done(&m->lock);
}

static bool answer_memo_is_it(const struct sf_memo_entry *e, int64_t begun_ns, uint32_t shard,
                              sf_str question)
{
    return e->begun_ns == begun_ns && e->shard == shard && e->question_len == question.len &&
           memcmp(e->bytes, question.p, question.len) == 0;
}

bool sf_answer_memo_get(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, sf_str question,
                        struct sf_buf *out)
{
    bool is_found = false;
    sf_mutex_lock(&m->lock);
    for (uint32_t i = 0; begun_ns && !is_found && i < m->n; i++) {
        const struct sf_memo_entry *e = &m->list[i];
        if (answer_memo_is_it(e, begun_ns, shard, question)) {
            if (out)
                sf_buf_add(out, e->bytes + e->question_len, e->len);
            is_found = true;
        }
    }
    sf_mutex_unlock(&m->lock);
    return is_found;
}

void sf_answer_memo_put(struct sf_answer_memo *m, int64_t begun_ns, uint32_t shard, sf_str question,
                        sf_bytes answer)
{
    struct sf_memo_entry e = {begun_ns, shard, question.len, answer.len, NULL};
    uint8_t *old = NULL;
    if (!begun_ns || !question.len || question.len + answer.len > MAX_LEN)
        return;
    e.bytes = sf_heap_new(question.len + answer.len);
    if (!e.bytes)
        return; /* not cached: the shard is queried again */
    memcpy(e.bytes, question.p, question.len);
    if (answer.len)
        memcpy(e.bytes + question.len, answer.p, answer.len);
    sf_mutex_lock(&m->lock);
    if (!m->list)
        m->list = sf_heap_new_n(MAX_ENTRIES, sizeof(*m->list));
    if (m->list) {
        old = m->list[m->next].bytes;
        m->list[m->next] = e;
        m->n = m->n > m->next ? m->n : m->next + 1;
        m->next = (m->next + 1) % MAX_ENTRIES;
        e.bytes = NULL;
    }
    sf_mutex_unlock(&m->lock);
    sf_heap_free(old);
    sf_heap_free(e.bytes);
}

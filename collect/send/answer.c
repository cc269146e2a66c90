#include "collect/send/answer.h"

#include <string.h>

#include "base/text.h"

static bool answer_wrong(struct sf_answer *a, const char *fault)
{
    a->fault = fault;
    return false;
}

static bool status_line(struct sf_answer *a, sf_str line)
{
    uint64_t status;
    if (!sf_str_starts(line, SF_STR("HTTP/1.")) || line.len < 12 ||
        !sf_str_to_u64(sf_str_part(line, 9, 3), &status) || status < 100)
        return answer_wrong(a, "the answer does not begin like HTTP/1.1");
    a->status = (int)status;
    a->is_kept_alive = line.p[7] != '0';
    return true;
}

static bool header_line(struct sf_answer *a, sf_str line)
{
    sf_str name = line, val;
    size_t at;
    uint64_t number;

    if (!sf_str_find_char(line, ':', &at))
        return answer_wrong(a, "a header without a colon");
    name.len = at;
    val = sf_str_trim(sf_str_from_at(line, at + 1));
    if (sf_str_ieq(name, SF_STR("content-length"))) {
        if (!sf_str_to_u64(val, &number) || (a->has_length && number != a->left))
            return answer_wrong(a, "content-length is not a number");
        a->left = number;
        a->has_length = true;
    } else if (sf_str_ieq(name, SF_STR("transfer-encoding"))) {
        if (!sf_str_ieq(val, SF_STR("chunked")))
            return answer_wrong(a, "an unsupported transfer-encoding");
        a->is_chunked = true;
    } else if (sf_str_ieq(name, SF_STR("connection"))) {
        if (sf_str_ieq(val, SF_STR("close")))
            a->is_kept_alive = false;
    } else if (sf_str_ieq(name, SF_STR("retry-after"))) {
        if (sf_str_to_u64(val, &number))
            a->retry_after_s = number > 3600 ? 3600 : (uint32_t)number;
    }
    return true;
}

static bool head_ends(struct sf_answer *a)
{
    if (a->status < 200) { /* 100 Continue and similar: the answer is still to come */
        uint32_t head_len = a->head_len;
        memset(a, 0, sizeof(*a));
        a->head_len = head_len;
        return true;
    }
    if (a->status == 204 || a->status == 304) {
        a->is_done = true;
    } else if (a->is_chunked) {
        if (a->has_length) /* both length and chunks, as in request smuggling: do not reuse the
                            * connection */
            a->is_kept_alive = false;
        a->state = SF_ANSWER_CHUNK_HEAD;
    } else if (a->has_length) {
        a->state = SF_ANSWER_SIZED;
        a->is_done = a->left == 0;
    } else {
        a->state = SF_ANSWER_TO_END;
        a->is_kept_alive = false;
    }
    return true;
}

static bool chunk_head(struct sf_answer *a, sf_str line)
{
    uint64_t len = 0;
    size_t i;
    for (i = 0; i < line.len && sf_hex_digit(line.p[i]) >= 0; i++) {
        if (i == 8)
            return answer_wrong(a, "a chunk exceeds the maximum size of a response");
        len = len << 4 | (uint64_t)sf_hex_digit(line.p[i]);
    }
    if (!i || (i < line.len && line.p[i] != ';' && line.p[i] != ' '))
        return answer_wrong(a, "a chunk without a size");
    a->left = len;
    a->state = len ? SF_ANSWER_CHUNK : SF_ANSWER_TRAILER;
    return true;
}

static bool line_ends(struct sf_answer *a)
{
    sf_str line = {a->line, a->line_len};
    if (line.len && line.p[line.len - 1] == '\r')
        line.len--;
    a->line_len = 0;
    switch (a->state) {
    case SF_ANSWER_HEAD:
        if (!a->status)
            return status_line(a, line);
        return line.len ? header_line(a, line) : head_ends(a);
    case SF_ANSWER_CHUNK_HEAD: return chunk_head(a, line);
    case SF_ANSWER_CHUNK_END:
        a->state = SF_ANSWER_CHUNK_HEAD;
        return line.len ? answer_wrong(a, "a chunk is longer than its stated size") : true;
    case SF_ANSWER_TRAILER: a->is_done = !line.len; return true;
    default: return answer_wrong(a, "an unexpected line");
    }
}

static bool take_line_byte(struct sf_answer *a, char c)
{
    if (++a->head_len > SF_ANSWER_HEAD_MAX)
        return answer_wrong(a, "a head longer than 16 KiB");
    if (c == '\n')
        return line_ends(a);
    if (a->line_len < sizeof(a->line))
        a->line[a->line_len++] = c;
    return true;
}

static void answer_keep(struct sf_answer *a, const uint8_t *p, size_t len)
{
    size_t room = SF_ANSWER_BODY_KEPT - a->body_len;
    if (len > room)
        len = room;
    memcpy(a->body + a->body_len, p, len);
    a->body_len += (uint32_t)len;
}

bool sf_answer_take(struct sf_answer *a, sf_bytes piece)
{
    size_t at = 0;
    while (at < piece.len && !a->is_done && !a->fault) {
        size_t n = piece.len - at;
        if (a->state == SF_ANSWER_TO_END) {
            answer_keep(a, piece.p + at, n);
            at = piece.len;
        } else if (a->state == SF_ANSWER_SIZED || a->state == SF_ANSWER_CHUNK) {
            if (n > a->left)
                n = (size_t)a->left;
            answer_keep(a, piece.p + at, n);
            a->left -= n;
            at += n;
            if (!a->left && a->state == SF_ANSWER_SIZED)
                a->is_done = true;
            else if (!a->left)
                a->state = SF_ANSWER_CHUNK_END, a->head_len = 0;
        } else {
            take_line_byte(a, (char)piece.p[at++]);
        }
    }
    if (at < piece.len) /* bytes after the answer belong to no request */
        a->is_kept_alive = false;
    return !a->is_done && !a->fault;
}

void sf_answer_end_of_body(struct sf_answer *a)
{
    if (a->is_done || a->fault)
        return;
    if (a->state == SF_ANSWER_TO_END)
        a->is_done = true;
    else
        a->fault = "the connection ended inside the answer";
    a->is_kept_alive = false;
}

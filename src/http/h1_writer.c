#include "http/h1_writer.h"

#include <stdio.h>
#include <time.h>

/* "Not Found"; "" when unknown. */
static const char *http_reason(int status)
{
    switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "";
    }
}

bool sf_h1_writer_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

void sf_h1_writer_date(int64_t unix_s, char out[SF_HTTP_DATE_LEN + 1])
{
    /* Not strftime, whose result depends on the locale. */
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t when = (time_t)unix_s;
    struct tm tm = {.tm_mday = 1};

    (void)gmtime_r(&when, &tm);
    (void)snprintf(out, SF_HTTP_DATE_LEN + 1, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                   days[(unsigned)tm.tm_wday % 7], (unsigned)tm.tm_mday % 100,
                   months[(unsigned)tm.tm_mon % 12], (unsigned)(tm.tm_year + 1900) % 10000,
                   (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100,
                   (unsigned)tm.tm_sec % 100);
}

static void h1_writer_add_value(struct sf_buf *out, sf_str val)
{
    size_t at = out->len;

    sf_buf_add_str(out, val);
    for (; at < out->len; at++) {
        if ((out->p[at] < 0x20 && out->p[at] != '\t') || out->p[at] == 0x7f)
            out->p[at] = '?';
    }
}

static void h1_writer_add_header(struct sf_buf *out, sf_str name, sf_str val)
{
    sf_buf_add_str(out, name);
    sf_buf_add_str(out, SF_STR(": "));
    h1_writer_add_value(out, val);
    sf_buf_add_str(out, SF_STR("\r\n"));
}

static void add_framing(struct sf_buf *out, const struct sf_h1_answer *a)
{
    if (!sf_h1_writer_has_body(a->response->status))
        return;
    if (a->body == SF_H1_BODY_SIZED)
        sf_buf_print(out, "content-length: %llu\r\n", (unsigned long long)a->body_len);
    else if (a->body == SF_H1_BODY_CHUNKED)
        sf_buf_add_str(out, SF_STR("transfer-encoding: chunked\r\n"));
}

void sf_h1_writer_head(struct sf_buf *out, const struct sf_h1_answer *a)
{
    const struct sf_response *r = a->response;
    char date[SF_HTTP_DATE_LEN + 1];

    sf_h1_writer_date(a->now_s, date);
    sf_buf_print(out, "HTTP/1.1 %d %s\r\ndate: %s\r\n", r->status, http_reason(r->status), date);
    if (r->content_type) {
        h1_writer_add_header(out, SF_STR("content-type"), sf_str_from(r->content_type));
        /* Content chosen by others must not be interpreted as a page or a script. */
        sf_buf_add_str(out, SF_STR("x-content-type-options: nosniff\r\n"));
    }
    add_framing(out, a);
    if (a->is_gzip)
        sf_buf_add_str(out, SF_STR("content-encoding: gzip\r\nvary: accept-encoding\r\n"));
    if (r->retry_after_s)
        sf_buf_print(out, "retry-after: %u\r\n", r->retry_after_s);
    for (uint32_t i = 0; i < r->n_headers; i++)
        h1_writer_add_header(out, r->headers[i].name, r->headers[i].val);
    if (!a->keeps_alive)
        sf_buf_add_str(out, SF_STR("connection: close\r\n"));
    else if (a->is_1_0)
        sf_buf_add_str(out, SF_STR("connection: keep-alive\r\n"));
    sf_buf_add_str(out, SF_STR("\r\n"));
}

void sf_h1_writer_chunk(struct sf_buf *out, sf_bytes piece)
{
    if (!piece.len)
        return;
    sf_buf_print(out, "%zx\r\n", piece.len);
    sf_buf_add(out, piece.p, piece.len);
    sf_buf_add_str(out, SF_STR("\r\n"));
}

void sf_h1_writer_last_chunk(struct sf_buf *out)
{
    sf_buf_add_str(out, SF_STR("0\r\n\r\n"));
}

void sf_h1_writer_continue(struct sf_buf *out)
{
    sf_buf_add_str(out, SF_STR("HTTP/1.1 100 Continue\r\n\r\n"));
}

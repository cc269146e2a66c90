#include "serve/own/page.h"

#include "serve/own/page_files.h"
#include "wire/inflate.h"

/* The page loads everything from this server and contacts no other. */
#define POLICY                                                                              \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "     \
    "require-trusted-types-for 'script'; trusted-types 'none'"

static const char without_page[] =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Spanflame</title>\n"
    "<h1>Spanflame</h1>\n"
    "<p>This server was built without its web page because Node was missing. To build it, install "
    "Node "
    "18 or newer with npm (on Debian: <code>apt-get install nodejs npm</code>) and run "
    "<code>make</code> again.</p>\n"
    "<p>Everything else works: <code>spanflame --help</code>, and the API on this address.</p>\n";

static void protect(struct sf_response *r)
{
    sf_response_header(r, "content-security-policy", SF_STR(POLICY));
    sf_response_header(r, "referrer-policy", SF_STR("no-referrer"));
    sf_response_header(r, "cross-origin-opener-policy", SF_STR("same-origin"));
}

static const struct sf_page_file *find_file(sf_str path)
{
    for (size_t i = 0; i < sf_n_page_files; i++) {
        if (sf_str_eq(path, sf_str_from(sf_page_files[i].path)))
            return &sf_page_files[i];
    }
    return NULL;
}

/* Sends gzip; the few clients that cannot read it get the file decompressed for each request. */
static enum sf_err page_add_body(struct sf_call *call, const struct sf_page_file *f,
                                 struct sf_why *why)
{
    struct sf_buf *body = &call->response->body;
    struct sf_inflate *z;
    enum sf_err err;
    if (call->request->wants_gzip) {
        sf_response_header(call->response, "content-encoding", SF_STR("gzip"));
        sf_buf_add(body, f->gzip, f->gzip_len);
        return sf_buf_ok(body) ? SF_OK : sf_fail(why, body->err, "page: no memory for a file");
    }
    z = sf_inflate_new();
    if (!z)
        return sf_fail(why, SF_ERR_NOMEM, "page: no memory to inflate a file");
    err = sf_inflate_bytes(z, SF_INFLATE_GZIP, (sf_bytes){f->gzip, f->gzip_len}, f->plain_len, body,
                           why);
    sf_inflate_free(z);
    return err;
}

static bool page_answer(struct sf_call *call, const struct sf_page_file *f, sf_str caching)
{
    struct sf_response *r = call->response;
    struct sf_why why;
    sf_str known = sf_request_header(call->request, SF_STR("if-none-match"));
    size_t at;
    sf_call_ok(call, f->content_type);
    protect(r);
    sf_response_header(r, "etag", sf_str_from(f->etag));
    sf_response_header(r, "cache-control", caching);
    sf_response_header(r, "vary", SF_STR("accept-encoding"));
    if (sf_str_find(known, sf_str_from(f->etag), &at)) {
        r->status = 304;
        return true;
    }
    enum sf_err err = page_add_body(call, f, &why);
    return err ? sf_call_fail(call, err, &why) : true;
}

bool sf_page_index(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    const struct sf_page_file *f = find_file(SF_STR("/"));
    if (f)
        return page_answer(call, f, SF_STR("no-cache"));
    sf_call_ok(call, "text/html; charset=utf-8");
    protect(call->response);
    sf_buf_add_str(&call->response->body, sf_str_from(without_page));
    return true;
}

bool sf_page_asset(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    const struct sf_page_file *f = find_file(call->request->path);
    if (!f)
        return sf_call_refuse(call, SF_COUNT_REJECT_NO_ROUTE, sf_status_no_route,
                              "the page has no such file; reload /");
    return page_answer(call, f, SF_STR("public, max-age=31536000, immutable"));
}

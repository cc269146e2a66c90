/* mcp_tools.h - the tools an assistant may use: names, arguments, and the calls that answer
 * them. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "serve/call.h"
#include "wire/json_write.h"

struct sf_mcp_tool;

/* NULL: there is no tool of that name. */
const struct sf_mcp_tool *sf_mcp_tools_find(sf_str name);
/* Writes the array of tools/list. */
void sf_mcp_tools_list(struct sf_json_writer *w);

struct sf_mcp_question {
    bool (*handle)(struct sf_call *call, struct sf_worker *worker);
    sf_str path;         /* constant */
    sf_str arg;          /* replaces {} in the path; empty: none */
    bool has_counts;     /* the number of samples is in the answer's headers, not in its text */
    struct sf_buf query; /* query parameters of the request; owned */
    struct sf_buf link;  /* "/?view=..." of the page; owned */
};

/* Builds the request from `arguments`, a JSON object or empty. `now_s` is unix time. INPUT names an
 * argument that is unknown, missing or of the wrong type. The caller frees the buffers, also on
 * failure. */
enum sf_err sf_mcp_tools_question(const struct sf_mcp_tool *tool, sf_str arguments, int64_t now_s,
                                  struct sf_arena *req, struct sf_mcp_question *out,
                                  struct sf_why *why);

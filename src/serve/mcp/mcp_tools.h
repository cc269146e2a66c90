/* mcp_tools.h - the tools an assistant may use: what they are called, what they take, which call
 * answers them. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "serve/call.h"
#include "wire/json_write.h"

struct sf_mcp_tool;

/* NULL: there is none of that name. */
const struct sf_mcp_tool *sf_mcp_tools_find(sf_str name);
/* The array of tools/list. */
void sf_mcp_tools_list(struct sf_json_writer *w);

struct sf_mcp_question {
    bool (*handle)(struct sf_call *call, struct sf_worker *worker);
    sf_str path;         /* constant */
    sf_str arg;          /* what stands in its place in the path; empty: none */
    bool has_counts;     /* the answer's headers say how many samples it is of, its text does not */
    struct sf_buf query; /* of the request; owned */
    struct sf_buf link;  /* "/?view=..." of the page; owned */
};

/* From `arguments`, a JSON object or empty. `now_s` is unix time. INPUT names an argument that is
 * unknown, missing or of the wrong type. The buffers are the caller's to end, on failure too. */
enum sf_err sf_mcp_tools_question(const struct sf_mcp_tool *tool, sf_str arguments, int64_t now_s,
                                  struct sf_arena *req, struct sf_mcp_question *out,
                                  struct sf_why *why);

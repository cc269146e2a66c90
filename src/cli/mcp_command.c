#include "cli/mcp_command.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/heap.h"
#include "cli/answer.h"
#include "cli/client.h"
#include "wire/json.h"
#include "wire/json_write.h"

enum { ARENA_LEN = 1 << 20 };

/* The JSON text of the message's id; empty: a notification, which gets no answer. */
static sf_str mcp_command_id_of(sf_str message, struct sf_arena *req)
{
    struct sf_json j;
    sf_str key, id = SF_STR_NONE;
    sf_json_init(&j, message, req);
    if (sf_json_peek(&j) != SF_JSON_OBJECT)
        return id;
    sf_json_object(&j);
    while (sf_json_key(&j, &key)) {
        const char *from;
        sf_json_peek(&j);
        from = j.at;
        sf_json_skip(&j);
        if (sf_str_eq(key, SF_STR("id")) && sf_json_ok(&j))
            id = (sf_str){from, (size_t)(j.at - from)};
    }
    return id;
}

/* Sent to the assistant when the server does not respond. */
static void write_fault(struct sf_buf *out, sf_str id, const char *words)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("jsonrpc"), SF_STR("2.0"));
    sf_json_write_key(&w, SF_STR("id"));
    sf_json_write_raw(&w, id);
    sf_json_write_key(&w, SF_STR("error"));
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("code"));
    sf_json_write_i64(&w, -32000);
    sf_json_write_key_str(&w, SF_STR("message"), sf_str_from(words));
    sf_json_write_object_end(&w);
    sf_json_write_object_end(&w);
}

/* Sends one message to the server and prints its answer on one line. False: standard output is
 * closed. */
static bool mcp_command_pass_on(const struct sf_client *client, sf_str message,
                                struct sf_arena *req)
{
    struct sf_buf answer = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_client_post(client, "/mcp", "application/json", sf_str_bytes(message),
                                     &answer, &why);
    if (err) {
        sf_str id = mcp_command_id_of(message, req);
        fprintf(stderr, "spanflame mcp: %s\n", why.text);
        if (id.len)
            write_fault(&answer, id, why.text);
    }
    bool is_open = true;
    if (answer.len) {
        sf_str text = sf_str_trim(sf_buf_str(&answer));
        is_open = fwrite(text.p, 1, text.len, stdout) == text.len && fputc('\n', stdout) != EOF &&
                  fflush(stdout) == 0;
    }
    sf_buf_done(&answer);
    sf_arena_reset(req);
    return is_open;
}

static int mcp_command_run(const struct sf_client *client)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    struct sf_arena req = {0};
    bool is_open = true;
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_answer_fault("mcp", &(struct sf_why){.text = "no memory"});
    while (is_open && (len = getline(&line, &room, stdin)) >= 0) {
        sf_str message = sf_str_trim((sf_str){line, (size_t)len});
        if (message.len)
            is_open = mcp_command_pass_on(client, message, &req);
    }
    sf_heap_free(line);
    sf_arena_done(&req);
    return is_open ? 0 : 1;
}

int sf_mcp_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    struct sf_flag flags[] = {SF_CLIENT_FLAGS(client)};
    struct sf_args args = {
        .command = "mcp",
        .usage = "[--server URL]",
        .summary = "Connect an AI assistant to a server over the Model Context Protocol (MCP).",
        .details =
            "Reads JSON-RPC messages from standard input, one per line, forwards them to the "
            "server's /mcp and writes the responses to standard output: the stdio transport that "
            "assistants start themselves. Tools: services, search, why, flame, "
            "compare, diff, findings, spans_with, deploys, coverage; all are read-only. "
            "Assistants with HTTP transport use http://SERVER/mcp directly.",
        .examples = "spanflame mcp --server http://127.0.0.1:4040",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words)
        return sf_answer_usage("mcp", "takes no words");
    return mcp_command_run(&client);
}

#include "app/token_command.h"

#include <stdio.h>
#include <string.h>

#include "app/tokens.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "wire/json_write.h"

static void token_command_write_json(const char *name, const char *scopes, const char *tenants,
                                     sf_str token, sf_str line, struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    sf_json_write_object(&j);
    sf_json_write_key_str(&j, SF_STR("name"), sf_str_from(name));
    sf_json_write_key_str(&j, SF_STR("scopes"), sf_str_from(scopes));
    if (tenants)
        sf_json_write_key_str(&j, SF_STR("tenants"), sf_str_from(tenants));
    sf_json_write_key_str(&j, SF_STR("token"), token);
    sf_json_write_key_str(&j, SF_STR("line"), line);
    sf_json_write_object_end(&j);
    sf_buf_add_u8(out, '\n');
}

static int print_new(const char *name, const char *scope_text, unsigned scopes, const char *tenants,
                     bool is_json)
{
    struct sf_buf token = {0}, line = {0}, out = {0};
    struct sf_why why;
    int result = 0;

    if (sf_tokens_make(sf_str_from(name), scopes, sf_str_from(tenants), &token, &line, &why)) {
        result = sf_answer_fault("token", &why);
    } else {
        if (is_json)
            token_command_write_json(name, scope_text, tenants, sf_buf_str(&token),
                                     sf_buf_str(&line), &out);
        else
            sf_buf_print(&out,
                         "# The token. It is shown this once; send it as  Authorization: Bearer "
                         "TOKEN\n%.*s\n\n# The line for the file that auth.token_file names:\n"
                         "%.*s\n",
                         SF_STR_ARG(sf_buf_str(&token)), SF_STR_ARG(sf_buf_str(&line)));
        result = sf_answer_write(&out);
    }
    if (token.p)
        memset(token.p, 0, token.len);
    sf_buf_done(&token);
    sf_buf_done(&line);
    return result;
}

int sf_token_command_run(int argc, char **argv)
{
    const char *name = NULL, *scope_text = "read,write", *tenants = NULL, *output = NULL;
    struct sf_why why;
    enum sf_output form;
    struct sf_flag flags[] = {
        {"name", SF_FLAG_STR, &name, "NAME", "name of the token, shown to operators only"},
        {"scopes", SF_FLAG_STR, &scope_text, "LIST",
         "scopes, separated by commas: read, write, admin, control (default read,write)"},
        {"tenants", SF_FLAG_STR, &tenants, "LIST",
         "tenants the token is limited to, separated by commas (default all)"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "token",
        .usage = "new --name NAME [--scopes LIST] [--tenants LIST]",
        .summary = "Create a token for a server with token authentication.",
        .details = "Prints the token once and the line to add to the token file. The file contains "
                   "only a hash: a lost token cannot be recovered; create a new one. A running "
                   "server reloads the file on SIGHUP.",
        .examples = "spanflame token new --name ci --scopes write\n"
                    "spanflame token new --name red-team --scopes read --tenants red",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    unsigned scopes;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 1 || strcmp(args.words[0], "new") != 0) {
        fprintf(stderr, "spanflame token: specify an action: spanflame token new --name NAME\n");
        return 2;
    }
    if (!name || !sf_tokens_is_name(sf_str_from(name))) {
        fprintf(stderr,
                "spanflame token: --name expects 1 to 64 letters, digits, dots or dashes\n");
        return 2;
    }
    if (!sf_tokens_parse_scopes(sf_str_from(scope_text), &scopes)) {
        fprintf(stderr,
                "spanflame token: --scopes expects any of read,write,admin,control, not \"%s\"\n",
                scope_text);
        return 2;
    }
    if (tenants && (!tenants[0] || sf_tokens_check_tenants(sf_str_from(tenants), &why))) {
        fprintf(stderr, "spanflame token: --tenants expects names such as red,blue%s%s\n",
                tenants[0] ? ": " : "", tenants[0] ? why.text : "");
        return 2;
    }
    form = sf_answer_output("token", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    return print_new(name, scope_text, scopes, tenants, form == SF_OUTPUT_JSON);
}

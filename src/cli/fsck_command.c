#include "cli/fsck_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "os/dir.h"
#include "os/terminal.h"
#include "store/local/local.h"
#include "wire/json_write.h"

struct report {
    struct sf_json_writer *json; /* NULL: text */
};

/* Escapes the text: names from a damaged file must not send control sequences to the terminal. */
static void print_line(sf_str text)
{
    uint32_t code;
    while (text.len) {
        size_t len = sf_utf8_char_len(text, &code);
        if (len == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
            putchar('?');
        else
            fwrite(text.p, 1, len, stdout);
        text = sf_str_part(text, len ? len : 1, text.len);
    }
    putchar('\n');
}

static void fsck_command_say(void *arg, const char *sentence)
{
    struct report *r = arg;
    if (r->json)
        sf_json_write_str(r->json, sf_str_from(sentence));
    else
        print_line(sf_str_from(sentence));
}

static int fsck_command_check(const char *path, bool is_json, struct sf_why *why)
{
    struct sf_buf out = {0};
    struct sf_json_writer json = sf_json_writer_init(&out);
    struct report r = {is_json ? &json : NULL};
    struct sf_dir *dir = NULL;
    uint64_t n_faults = 0;
    enum sf_err err = sf_dir_open(path, SF_DIR_READ, &dir, why);
    if (err)
        return sf_answer_fault("fsck", why);
    if (is_json) {
        sf_json_write_object(&json);
        sf_json_write_key(&json, SF_STR("findings"));
        sf_json_write_array(&json);
    }
    err = sf_local_fsck(dir, fsck_command_say, &r, &n_faults, why);
    sf_dir_close(dir);
    if (err) {
        sf_buf_done(&out);
        return sf_answer_fault("fsck", why);
    }
    if (is_json) {
        sf_json_write_array_end(&json);
        sf_json_write_key_u64(&json, SF_STR("faults"), n_faults);
        sf_json_write_object_end(&json);
        sf_buf_add_u8(&out, '\n');
        return sf_answer_write(&out) != 0 || n_faults ? 1 : 0;
    }
    if (n_faults == 0)
        printf("%s: no errors found\n", path);
    else
        printf("%s: %" PRIu64
               " fault%s; nothing was changed. The server quarantines damaged blocks by itself and "
               "goes on without them.\n",
               path, n_faults, n_faults == 1 ? "" : "s");
    return n_faults ? 1 : 0;
}

int sf_fsck_command_run(int argc, char **argv)
{
    const char *output = NULL;
    struct sf_flag flags[] = {
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"}};
    struct sf_args args = {
        .command = "fsck",
        .usage = "DIR [--output text|json]",
        .summary = "Verify a data directory: every checksum of log, blocks and catalogue. Changes "
                   "nothing.",
        .details = "Run it while no server uses the directory. The exit code is 0 if no error was "
                   "found and 1 otherwise; each error is printed as one sentence.",
        .examples = "spanflame fsck /var/lib/spanflame",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_why why = {0};
    enum sf_output form;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 1)
        return sf_answer_usage("fsck", "give the data directory");
    form = sf_answer_output("fsck", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    return fsck_command_check(args.words[0], form == SF_OUTPUT_JSON, &why);
}

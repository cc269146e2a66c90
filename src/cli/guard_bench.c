#include "cli/guard_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "os/child.h"
#include "os/terminal.h"

static const char *const sides[2] = {"baseline", "candidate"};

/* The flag of `spanflame record` that records that type. */
static const char *flag_of(const char *type)
{
    static const struct {
        const char *word, *flag;
    } flags[] = {{"alloc", "--heap"}, {"inuse", "--heap"},  {"heap", "--heap"},
                 {"wall", "--wall"},  {"mutex", "--mutex"}, {"block", "--block"}};
    for (size_t i = 0; type && i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strncmp(type, flags[i].word, strlen(flags[i].word)) == 0)
            return flags[i].flag;
    }
    return "--cpu";
}

/* The shell operator in a command, which would make it several programs and keep the shell running;
 * 0: none. */
static char operator_in(const char *command)
{
    char quote = 0;
    for (const char *c = command; *c; c++) {
        if (*c == '\\' && quote != '\'' && c[1])
            c++;
        else if (quote)
            quote = *c == quote ? 0 : quote;
        else if (*c == '\'' || *c == '"')
            quote = *c;
        else if (*c == ';' || *c == '&' || *c == '|' || *c == '\n')
            return *c;
    }
    return 0;
}

static void name_run(const struct sf_guard_bench *b, int side, unsigned run, char out[96])
{
    snprintf(out, 96, "%s/%u.pb.gz", b->folders[side], run);
}

static enum sf_err run_once(const struct sf_guard_bench *b, int side, unsigned run,
                            struct sf_why *why)
{
    char path[96], rate[16], self[4096];
    struct sf_buf command = {0};
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int code = 0;
    enum sf_err err;
    if (len <= 0)
        return sf_fail(why, SF_ERR_IO, "this program's own path cannot be read");
    self[len] = 0;
    name_run(b, side, run, path);
    snprintf(rate, sizeof(rate), "%u", b->rate_hz);
    sf_buf_print(&command, "exec %s 1>&2", b->commands[side]);
    sf_buf_add_u8(&command, 0);
    const char *const argv[] = {self,
                                "record",
                                flag_of(b->type),
                                "--rate",
                                rate,
                                "--out",
                                path,
                                "--",
                                "/bin/sh",
                                "-c",
                                sf_buf_ok(&command) ? (const char *)command.p : "",
                                NULL};
    err = sf_child_run(argv, NULL, 0, &code, why);
    sf_buf_done(&command);
    if (err)
        return err;
    if (code)
        return sf_fail(why, SF_ERR_INPUT, "run %u of the %s exited with code %d", run, sides[side],
                       code);
    return access(path, R_OK) ? sf_fail(why, SF_ERR_INPUT,
                                        "run %u of the %s wrote no profile; `spanflame record "
                                        "--help` says which programs it can record",
                                        run, sides[side])
                              : SF_OK;
}

/* Runs both in turn, and in every second round the candidate first, so that changes in the
 * machine's load affect both. */
enum sf_err sf_guard_bench_run(struct sf_guard_bench *b, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (int side = 0; side < 2; side++) {
        char op = operator_in(b->commands[side]);
        if (op)
            return sf_fail(
                why, SF_ERR_INPUT,
                "the command of the %s has %s: it is one program with its arguments; put "
                "several into a script",
                sides[side], op == '\n' ? "a line break" : (const char[]){'\'', op, '\'', 0});
    }
    for (int side = 0; side < 2; side++) {
        snprintf(b->folders[side], sizeof(b->folders[side]), "/tmp/spanflame-guard-%s-XXXXXX",
                 sides[side]);
        if (!mkdtemp(b->folders[side])) {
            b->folders[side][0] = 0;
            return sf_fail(why, SF_ERR_IO,
                           "no directory in /tmp could be created for the profiles");
        }
    }
    for (unsigned run = 1; !err && run <= b->runs; run++) {
        int first = run % 2 == 0;
        if (sf_terminal_is(STDERR_FILENO))
            fprintf(stderr, "spanflame guard: run %u of %u\n", run, b->runs);
        err = run_once(b, first, run, why);
        if (!err)
            err = run_once(b, !first, run, why);
    }
    return err;
}

void sf_guard_bench_done(struct sf_guard_bench *b)
{
    for (int side = 0; side < 2; side++) {
        if (!b->folders[side][0])
            continue;
        for (unsigned run = 1; run <= b->runs; run++) {
            char path[96];
            name_run(b, side, run, path);
            unlink(path);
        }
        rmdir(b->folders[side]);
        b->folders[side][0] = 0;
    }
}

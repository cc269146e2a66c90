/* record_command.c - the command `record`: starts a program with the profiling library preloaded,
 * waits for it, and shows, keeps or uploads the profiles it wrote. The program's ELF header is
 * inspected first, to explain programs that cannot be preloaded (static, other libc). */
#include "cli/record_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "decode/profile_format.h"
#include "flame/batch_tree.h"
#include "flame/tree_group.h"
#include "os/child.h"
#include "os/own_profiler.h"
#include "os/program.h"
#include "os/terminal.h"
#include "os/text_file.h"
#include "render/flame_text.h"

enum { PROFILE_MAX = 64 << 20, ARENA_LEN = 512 << 20, WIDTH = 100, PATH_CAP = 4096 };

/* In the order of the library: the first requested kind is written to the named file itself. */
enum { CPU, WALL, HEAP, MUTEX, BLOCK, KINDS };
static const struct kind {
    const char *word;  /* name for the library, and in the names of additional files */
    const char *shown; /* the sample type that is drawn */
    const char *title;
    const char *nothing;
} kinds[KINDS] = {
    {"cpu", "cpu", "CPU time", "the program used too little CPU time to be sampled"},
    {"wall", "wall", "time, running and waiting", "the program ended before it could be sampled"},
    {"heap", "alloc_space", "allocated bytes", "the program allocated too little to be sampled"},
    {"mutex", "delay", "time spent waiting for locks", "no thread waited for a lock"},
    {"block", "off_cpu", "time spent in blocking calls", "no call blocked"},
};

#define NOT_GIVEN UINT64_MAX

struct record {
    const char *out;    /* NULL: draw it */
    const char *server; /* NULL: do not upload */
    uint64_t rate, heap_rate;
    bool is_on[KINDS];
    char library[SF_LIBRARY_PATH_CAP];
    char file[PATH_CAP]; /* pprof; "": only uploaded */
    char said[PATH_CAP]; /* file with the library's report about uploads; "": nothing is uploaded */
};

static enum sf_err record_command_draw(const struct kind *kind, sf_str bytes, struct sf_arena *a,
                                       struct sf_buf *text, struct sf_why *why)
{
    struct sf_profile_batch batch;
    const struct sf_batch_type *types;
    struct sf_tree tree, grouped;
    struct sf_flame_text_rest rest;
    struct sf_flame_text f = {.tree = &grouped,
                              .lines = &tree,
                              .order = SF_TREE_BY_TOTAL,
                              .columns = sf_terminal_width(STDERR_FILENO, WIDTH),
                              .min_share = 0.02,
                              .has_color = sf_terminal_has_color(STDERR_FILENO)};
    uint32_t n, which;
    enum sf_err err = sf_profile_format_decode(bytes, NULL, a, &batch, why);
    if (!err)
        err = sf_batch_tree_types(&batch, a, &types, &n, why);
    if (!err && (!n || sf_batch_tree_choose(types, n, sf_str_from(kind->shown), &which, why)))
        return sf_fail(why, SF_ERR_NOT_FOUND, "%s", kind->nothing);
    if (!err)
        err = sf_batch_tree(&batch, &types[which].type, a, &tree, why);
    if (!err)
        err = sf_tree_group(&tree, (struct sf_tree_grouping){.by = SF_GROUP_FUNCTION}, a, &grouped,
                            why);
    if (!err)
        err = sf_flame_text_render(&f, *a, text, &rest, why);
    return err;
}

static enum sf_err record_command_show(const struct kind *kind, const char *path, bool has_title,
                                       struct sf_why *why)
{
    struct sf_buf raw = {.max = PROFILE_MAX}, inflated = {0}, text = {0};
    struct sf_inflate *z = sf_inflate_new();
    struct sf_arena a = {0};
    sf_str plain;
    enum sf_err err = SF_ERR_NOMEM;

    if (z && sf_arena_init(&a, ARENA_LEN))
        err = sf_text_file_read(path, PROFILE_MAX, &raw, why);
    else
        sf_fail(why, SF_ERR_NOMEM, "no memory to draw the profile");
    if (!err)
        err = sf_profile_format_unwrap(z, sf_buf_str(&raw), PROFILE_MAX, &inflated, &plain, why);
    if (!err)
        err = record_command_draw(kind, plain, &a, &text, why);
    if (!err && has_title)
        fprintf(stderr, "\n%s:\n", kind->title);
    if (!err) /* on stderr: standard output belongs to the program */
        sf_terminal_write(STDERR_FILENO, sf_buf_str(&text));
    sf_arena_done(&a);
    sf_inflate_free(z);
    sf_buf_done(&raw);
    sf_buf_done(&inflated);
    sf_buf_done(&text);
    return err;
}

/* Combines "dir/out.pb.gz" and "heap" to "dir/out-heap.pb.gz", as the library does. */
static void record_command_name_file(char out[PATH_CAP], const char *path, const char *word)
{
    const char *name = strrchr(path, '/'), *dot = strchr(name ? name : path, '.');
    size_t at = dot ? (size_t)(dot - path) : strlen(path);
    snprintf(out, PATH_CAP, "%.*s-%s%s", (int)at, path, word, path + at);
}

static uint32_t n_kinds(const struct record *r)
{
    uint32_t n = 0;
    for (int i = 0; i < KINDS; i++)
        n += r->is_on[i];
    return n;
}

/* Calls `one` for the file of every kind that is recorded. */
static void each_file(const struct record *r,
                      void (*one)(const struct record *, const struct kind *, const char *path))
{
    char named[PATH_CAP];
    bool is_first = true;
    for (int i = 0; i < KINDS; i++) {
        if (!r->is_on[i])
            continue;
        if (!is_first)
            record_command_name_file(named, r->file, kinds[i].word);
        one(r, &kinds[i], is_first ? r->file : named);
        is_first = false;
    }
}

static void remove_file(const struct record *r, const struct kind *kind, const char *path)
{
    (void)r;
    (void)kind;
    unlink(path);
}

/* Before the program runs: whether its profile can be put at `path`, and without replacing a
 * device, a pipe or a folder. */
static const char *unfit_file(const char *path)
{
    struct stat st;
    char folder[PATH_CAP];
    const char *slash = strrchr(path, '/');
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return "is not a regular file";
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (access(folder[0] ? folder : "/", W_OK | X_OK) != 0)
        return "cannot be created: its directory does not exist, or may not be written to";
    return strlen(path) >= PATH_CAP - 8 ? "is too long a name" : NULL;
}

static void tell_file(const struct record *r, const struct kind *kind, const char *path)
{
    struct sf_why why = {0};
    if (r->out && n_kinds(r) > 1)
        fprintf(stderr, "spanflame record: the profile of %s is in %s\n", kind->title, path);
    else if (r->out)
        fprintf(stderr, "spanflame record: the profile is in %s\n", path);
    else if (record_command_show(kind, path, n_kinds(r) > 1, &why))
        fprintf(stderr, "spanflame record: %s\n", why.text);
}

/* Prints the library's report about its uploads. */
static void record_command_tell_sent(const struct record *r)
{
    struct sf_buf text = {0};
    struct sf_why why = {0};
    if (sf_text_file_read(r->said, 4096, &text, &why))
        fprintf(stderr, "spanflame record: %s\n", why.text);
    else
        fprintf(stderr, "spanflame record: %.*s", SF_STR_ARG(sf_buf_str(&text)));
    sf_buf_done(&text);
}

/* Exit code as a shell uses it: command not found, or not executable. */
static int not_started(enum sf_err err, const struct sf_why *why)
{
    int code = sf_answer_fault("record", why);
    return err == SF_ERR_NOT_FOUND ? 127 : err == SF_ERR_DENIED || err == SF_ERR_IO ? 126 : code;
}

static void tell_nothing(const struct sf_program *looked, const char *name)
{
    static const char *const why[] = {
        [SF_PROGRAM_UNKNOWN] = "is static, refuses preloading, or was killed",
        [SF_PROGRAM_DYNAMIC] = "refuses preloading, or was killed",
        [SF_PROGRAM_MUSL] = "is linked with musl, libspanflame with glibc",
        [SF_PROGRAM_FOREIGN] = "is for another processor",
        [SF_PROGRAM_STATIC] = "is linked statically"};
    fprintf(stderr, "spanflame record: no profile was written: %s %s\n", name, why[looked->kind]);
}

/* A path to the root of the file system that begins with $ORIGIN, which glibc's loader replaces by
 * the program's folder. musl's loader does not: it finds no such file and ignores the entry, so a
 * child process linked with musl still starts; with a path that it could open it would fail. */
#define UP_4       "/../../../.."
#define UP_16      UP_4 UP_4 UP_4 UP_4
#define GLIBC_ROOT "$ORIGIN" UP_16 UP_16 UP_16 UP_16

/* The value of LD_PRELOAD. A library that the loader cannot load would end the program or make it
 * print an error; a sanitizer's library must be the first. */
static bool preload_for(const struct record *r, const struct sf_program *looked, char *out,
                        size_t cap)
{
    const char *before = getenv("LD_PRELOAD");
    bool has_before = before && *before && strlen(before) < PATH_CAP - SF_PROGRAM_NAME_CAP - 2;
    if (looked->kind == SF_PROGRAM_MUSL || looked->kind == SF_PROGRAM_FOREIGN)
        return false;
    snprintf(out, cap, "%s%s" GLIBC_ROOT "%s%s%s", looked->first, looked->first[0] ? ":" : "",
             r->library, has_before ? ":" : "", has_before ? before : "");
    return true;
}

static int record(struct record *r, const char *const *program)
{
    char rate[24] = "", heap_rate[24] = "", words[64] = "",
         preload[PATH_CAP * 2 + sizeof(GLIBC_ROOT)];
    struct sf_child_env env[] = {{"SPANFLAME_RECORD_FILE", r->file},
                                 {"SPANFLAME_RECORD_RATE", rate},
                                 {"SPANFLAME_RECORD_HEAP_RATE", heap_rate},
                                 {"SPANFLAME_RECORD_KINDS", words},
                                 {"SPANFLAME_RECORD_SERVER", r->server ? r->server : ""},
                                 {"SPANFLAME_RECORD_SAID", r->said},
                                 {"SPANFLAME_RECORD_PID", NULL},
                                 {"LD_PRELOAD", preload}};
    size_t n_env = sizeof(env) / sizeof(env[0]);
    struct sf_program looked;
    struct sf_why why = {0};
    enum sf_err err;
    int code = 0;

    sf_program_inspect(program[0], &looked);
    if (!preload_for(r, &looked, preload, sizeof(preload)))
        n_env--; /* leave out the last one */
    if (r->rate != NOT_GIVEN)
        snprintf(rate, sizeof(rate), "%llu", (unsigned long long)r->rate);
    if (r->heap_rate != NOT_GIVEN)
        snprintf(heap_rate, sizeof(heap_rate), "%llu", (unsigned long long)r->heap_rate);
    for (int i = 0; i < KINDS; i++) {
        size_t len = strlen(words);
        if (r->is_on[i])
            snprintf(words + len, sizeof(words) - len, "%s%s", len ? "," : "", kinds[i].word);
    }
    err = sf_child_run(program, env, n_env, &code, &why);
    if (err)
        return not_started(err, &why);
    if (access(r->server ? r->said : r->file, R_OK)) {
        tell_nothing(&looked, program[0]);
    } else {
        if (r->file[0])
            each_file(r, tell_file);
        if (r->server)
            record_command_tell_sent(r);
    }
    if (r->file[0] && !r->out)
        each_file(r, remove_file);
    if (r->server)
        unlink(r->said);
    return code; /* the program's own exit code, so that scripts see no difference */
}

/* What is wrong with the rates; NULL: nothing. */
static const char *record_command_find_fault(const struct record *r)
{
    if (r->rate != NOT_GIVEN && (r->rate < 1 || r->rate > 1000))
        return "--rate is 1 to 1000";
    if (r->rate != NOT_GIVEN && !r->is_on[CPU])
        return "--rate is for CPU samples: add --cpu";
    if (r->heap_rate != NOT_GIVEN && (r->heap_rate < 1 || r->heap_rate > UINT32_MAX))
        return "--heap-rate is 1 byte to 4 GB";
    return r->heap_rate != NOT_GIVEN && !r->is_on[HEAP] ? "--heap-rate is for --heap: add it"
                                                        : NULL;
}

int sf_record_command_run(int argc, char **argv)
{
    struct record r = {.rate = NOT_GIVEN, .heap_rate = NOT_GIVEN};
    struct sf_flag flags[] = {
        {"cpu", SF_FLAG_BOOL, &r.is_on[CPU], NULL, "record CPU time (the default)"},
        {"wall", SF_FLAG_BOOL, &r.is_on[WALL], NULL,
         "record wall-clock time of running and waiting threads; does not interrupt system calls"},
        {"heap", SF_FLAG_BOOL, &r.is_on[HEAP], NULL, "record memory allocated and memory in use"},
        {"mutex", SF_FLAG_BOOL, &r.is_on[MUTEX], NULL,
         "record waits for pthread mutexes and rwlocks"},
        {"block", SF_FLAG_BOOL, &r.is_on[BLOCK], NULL,
         "record blocking calls: I/O, sleeps, conditions, children"},
        {"out", SF_FLAG_STR, &r.out, "FILE",
         "write pprof to this file instead of drawing a flame graph"},
        {"server", SF_FLAG_STR, &r.server, "URL",
         "send profiles to this server, as the service OTEL_SERVICE_NAME or the program's name; "
         "with --out, do both"},
        {"rate", SF_FLAG_U64, &r.rate, "HZ",
         "samples per second of CPU time, 1 to 1000 (default: profiling.cpu.sample_rate, 100); "
         "above 100 the overhead budget does not apply"},
        {"heap-rate", SF_FLAG_SIZE, &r.heap_rate, "SIZE",
         "average number of allocated bytes per sample (default: profiling.memory.sample_rate, "
         "512KB); below 512KB the overhead budget does not apply"},
    };
    struct sf_args args = {
        .command = "record",
        .usage =
            "[--cpu] [--wall] [--heap] [--mutex] [--block] [--out FILE] [--server URL] [--rate HZ] "
            "[--heap-rate SIZE] -- PROGRAM [ARGS...]",
        .summary = "Run a program and show where its time and memory went.",
        .details =
            "The program runs as it is, with libspanflame preloaded: no rebuild, no root. "
            "Its output and exit status are unchanged; the flame graph is written to standard "
            "error when it ends. To end it early, signal the program itself or, as a terminal "
            "does, the process group; as the first process of a container, this command passes "
            "signals on. With several profile types, --out names the file of the "
            "first; the type is added to the names of the others: out.pb.gz, out-heap.pb.gz. Only "
            "the program itself is "
            "sampled, not its children. If the program crashes, the profile up to then is kept; if "
            "it is killed (SIGKILL), there is none. Programs that are statically linked, linked "
            "with musl or setuid run unchanged and cannot be recorded. The exit status is 127 if "
            "the program does not exist and 126 if it cannot be run, as in a shell.",
        .examples = "spanflame record -- sqlite3 shop.db 'select count(*) from orders'\n"
                    "spanflame record --heap --mutex -- ./shop --port 8080\n"
                    "spanflame record --server http://localhost:4318 --wall -- ./shop\n"
                    "spanflame record --rate 250 --out shop.pb.gz -- ./shop --port 8080",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    const char *named[65];
    const char *const *program = named, *fault;
    char folder[] = "/tmp/spanflame-record-XXXXXX";
    int n_own = argc, code;
    bool has_folder;
    enum sf_args_result result;

    for (int i = 1; i < n_own; i++) { /* every word after "--" belongs to the program */
        if (!strcmp(argv[i], "--"))
            n_own = i;
    }
    if (n_own < argc)
        program = (const char *const *)(argv + n_own + 1);
    result = sf_args_parse(&args, n_own, argv);

    if (result != SF_ARGS_RUN)
        return result == SF_ARGS_DONE ? 0 : 2;
    for (size_t i = 0; i <= args.n_words && n_own == argc; i++)
        named[i] = i < args.n_words ? args.words[i] : NULL;
    if (!n_kinds(&r))
        r.is_on[CPU] = true;
    fault = record_command_find_fault(&r);
    if (!fault && (!program[0] || (n_own < argc && args.n_words)))
        fault = "name a program: spanflame record -- PROGRAM [ARGS...]";
    if (fault) {
        fprintf(stderr, "spanflame record: %s\n", fault);
        return 2;
    }
    if (r.out && unfit_file(r.out)) {
        fprintf(stderr, "spanflame record: --out %s %s\n", r.out, unfit_file(r.out));
        return 1;
    }
    if (!sf_own_profiler_library(r.library)) {
        fprintf(
            stderr,
            "spanflame record: libspanflame.so.1 is neither beside this program nor in ../lib\n");
        return 1;
    }
    has_folder = r.server || !r.out;
    if (has_folder && !mkdtemp(folder)) {
        fprintf(stderr, "spanflame record: no directory in /tmp could be created\n");
        return 1;
    }
    if (r.out)
        snprintf(r.file, sizeof(r.file), "%s", r.out);
    else if (!r.server)
        snprintf(r.file, sizeof(r.file), "%s/profile.pb.gz", folder);
    if (r.server)
        snprintf(r.said, sizeof(r.said), "%s/said", folder);
    if (r.file[0])
        each_file(&r, remove_file); /* remove old files, so that those found afterwards are from
                                     * this run */
    code = record(&r, program);
    if (has_folder)
        rmdir(folder);
    return code;
}

/* profile_source.h - a profile from a file, standard input, a URL or a server, ready to be shown:
 * what flame, top, diff and export share. */
#pragma once
#include "cli/args.h"
#include "cli/client.h"
#include "flame/batch_tree.h"
#include "model/answer/profile_view.h"

struct sf_profile_flags { /* zero means the default */
    const char *type;     /* --type */
    const char *group;    /* --group-by */
    const char *input;    /* --input: the format, if it cannot be detected */
    const char *focus, *ignore, *hide, *from;
    struct sf_client client; /* the server for selectors */
    const char *range;       /* --time-range */
    bool is_path;            /* `word` is a path on the server that answers with a profile */
    bool has_ids;            /* keep trace and span ids of samples */
};

#define SF_PROFILE_FLAGS(f)                                                                      \
    {"type", SF_FLAG_STR, &(f).type, "TYPE", "what is measured: cpu, alloc_space, inuse_space"}, \
        {"input", SF_FLAG_STR, &(f).input, "FORMAT",                                             \
         "input format, if it is not recognized by content: trie, lines, folded, ..."},          \
        {"group-by", SF_FLAG_STR, &(f).group, "WHAT",                                            \
         "function (default), line, file, package or module"},                                   \
        {"focus", SF_FLAG_STR, &(f).focus, "REGEX", "keep only stacks with a matching frame"},   \
        {"ignore", SF_FLAG_STR, &(f).ignore, "REGEX", "drop stacks with a matching frame"},      \
        {"hide", SF_FLAG_STR, &(f).hide, "REGEX", "hide matching frames"},                       \
    {                                                                                            \
        "from", SF_FLAG_STR, &(f).from, "REGEX", "start stacks at the first matching frame"      \
    }

/* Flags of commands that also take selectors. */
#define SF_PROFILE_SERVER_FLAGS(f)                                                            \
    {"time-range", SF_FLAG_STR, &(f).range, "RANGE",                                          \
     "time range of a selector: 1h (default, back from now) or FROM..UNTIL: now-2h..now-1h"}, \
        SF_CLIENT_FLAGS((f).client)

struct sf_profile_source {
    struct sf_arena req;
    struct sf_buf bytes, inflated;
    struct sf_profile_view view; /* the requested type, filtered; frames as decoded */
    struct sf_owned owned;       /* memory of the view's `owned` */
    const char *format;          /* "pprof", "folded", ... */
    bool is_asked;               /* answer of a server to a selector */
    uint64_t n_samples;          /* number reported by the server; 0: as decoded */
};

/* `word` is a path, "-", a URL, which is fetched with a countdown on a terminal, or a selector
 * (order-service{env=prod}), which a server resolves. A word without braces, dots and slashes that
 * is not a file is a service. Notes on stderr say what was left out or truncated, and which other
 * types there are. The caller calls done, also after a failure. */
enum sf_err sf_profile_source_open(const char *command, const char *word,
                                   const struct sf_profile_flags *flags,
                                   struct sf_profile_source *out, struct sf_why *why);
void sf_profile_source_done(struct sf_profile_source *s);
/* The same view with frames grouped by name, as drawings need; the trace and span ids are lost.
 * INPUT: unknown grouping. */
enum sf_err sf_profile_source_grouped(struct sf_profile_source *s,
                                      const struct sf_profile_flags *flags,
                                      struct sf_profile_view *out, struct sf_why *why);
/* "2.5" or "2.5%" as a share, 0.025. False: not a percentage. */
bool sf_profile_source_share(const char *text, double *out);
/* The unchanged bytes of a file, of standard input or of a URL. */
enum sf_err sf_profile_source_bytes(const char *word, struct sf_buf *out, struct sf_why *why);

/* Opens `n` sources (1 or 2, each with its flags), lets `show` write, closes them, and ends the
 * command; returns the exit code. */
typedef enum sf_err sf_profile_show_fn(void *arg, struct sf_profile_source *sources,
                                       struct sf_buf *out, struct sf_why *why);
int sf_profile_source_show(const char *command, const char *const *words,
                           const struct sf_profile_flags *flags, size_t n, sf_profile_show_fn *show,
                           void *arg);
/* "1h", or "FROM..UNTIL" with times as the server takes them; NULL is the last hour. False: it is
 * neither. */
bool sf_profile_source_time_range(const char *text, int64_t now_ns, int64_t *out_from_ns,
                                  int64_t *out_until_ns);
enum sf_err sf_profile_source_bad_range(const char *text, struct sf_why *why); /* INPUT, in words */
/* Checks --limit and --min, if given; false: an error was printed. */
bool sf_profile_source_rows_check(const char *command, uint64_t limit, const char *min,
                                  double *out_share);
/* The seconds in a URL's "?seconds=30"; 0: not given. */
unsigned sf_profile_source_url_seconds(sf_str url);

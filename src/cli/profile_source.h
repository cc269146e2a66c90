/* profile_source.h - a profile from a file, standard input or a URL, ready to be shown: what flame,
 * top, diff and export share. No server of ours is needed. */
#pragma once
#include "cli/args.h"
#include "cli/client.h"
#include "flame/batch_tree.h"
#include "render/profile_view.h"

struct sf_profile_flags { /* zero: the default */
    const char *type;     /* --type */
    const char *group;    /* --group-by */
    const char *input;    /* --input: the format, where the content does not tell */
    const char *focus, *ignore, *hide, *from;
    const struct sf_client *server; /* the word is a path of this server, whose profiles it has */
};

#define SF_PROFILE_FLAGS(f)                                                                      \
    {"type", SF_FLAG_STR, &(f).type, "TYPE", "what is measured: cpu, alloc_space, inuse_space"}, \
        {"input", SF_FLAG_STR, &(f).input, "FORMAT",                                             \
         "where content does not tell: tree, trie, lines"},                                      \
        {"group-by", SF_FLAG_STR, &(f).group, "WHAT",                                            \
         "function (default), line, file, package or module"},                                   \
        {"focus", SF_FLAG_STR, &(f).focus, "REGEX", "only stacks with such a frame"},            \
        {"ignore", SF_FLAG_STR, &(f).ignore, "REGEX", "no stacks with such a frame"},            \
        {"hide", SF_FLAG_STR, &(f).hide, "REGEX", "leave such frames out"},                      \
    {                                                                                            \
        "from", SF_FLAG_STR, &(f).from, "REGEX", "stacks from the first such frame on"           \
    }

struct sf_profile_source {
    struct sf_arena req;
    struct sf_buf bytes, inflated;
    struct sf_profile_view view; /* of the type asked for, filtered; frames as decoded */
    const char *format;          /* "pprof", "folded", ... */
};

/* `word` is a path, "-", or a URL, which is fetched with a countdown on a terminal. What was left
 * out or cut, and the other types there are, are notes on stderr. The caller calls done, also after
 * a failure. */
enum sf_err sf_profile_source_open(const char *command, const char *word,
                                   const struct sf_profile_flags *flags,
                                   struct sf_profile_source *out, struct sf_why *why);
void sf_profile_source_done(struct sf_profile_source *s);
/* The same view with frames that have names: what drawings take. INPUT: no such grouping. */
enum sf_err sf_profile_source_grouped(struct sf_profile_source *s,
                                      const struct sf_profile_flags *flags,
                                      struct sf_profile_view *out, struct sf_why *why);
/* "2.5" or "2.5%" as a share, 0.025. False: not a percentage. */
bool sf_profile_share(const char *text, double *out);
/* How long a URL says that it will take: the seconds of "?seconds=30"; 0: it does not say. */
unsigned sf_profile_url_seconds(sf_str url);

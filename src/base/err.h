/* err.h - the error convention of the whole project.
 *
 * What can fail returns enum sf_err; results leave through trailing `out` parameters, untouched on
 * failure; an error message goes into struct sf_why, a fixed buffer owned by the caller (NULL if it
 * is not needed). The function that detects the error writes the message. */
#pragma once
#include <stdarg.h>
#include <stdint.h>

/* Few codes; each determines who has to act: the caller, the operator or the developer. */
enum sf_err {
    SF_OK = 0,
    SF_ERR_INPUT,       /* sender: malformed bytes or invalid values */
    SF_ERR_LIMIT,       /* sender or operator: over a named limit */
    SF_ERR_BUSY,        /* retry later */
    SF_ERR_FULL,        /* operator: disk or quota */
    SF_ERR_DENIED,      /* caller: not allowed */
    SF_ERR_NOT_FOUND,   /* caller: does not exist */
    SF_ERR_DEADLINE,    /* caller or operator: took too long */
    SF_ERR_CANCELLED,   /* the caller disconnected */
    SF_ERR_IO,          /* the device or network failed */
    SF_ERR_CORRUPT,     /* our own bytes are damaged */
    SF_ERR_NOMEM,       /* memory ran out */
    SF_ERR_UNSUPPORTED, /* well-formed, but not supported */
    SF_ERR_N
};

struct sf_why {
    char text[240];
};

/* Writes the sentence (cut to fit, always terminated; control characters become '?') and returns
 * `err`, so that a fault is one line: return sf_fail(why, SF_ERR_IO, "wal: %s", ...). */
enum sf_err sf_fail(struct sf_why *why, enum sf_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum sf_err sf_fail_va(struct sf_why *why, enum sf_err err, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
#ifdef __clang_analyzer__
/* For static analysers: they examine one file at a time and would assume that sf_fail may return
 * SF_OK. */
static inline enum sf_err sf_fail_is(enum sf_err err, enum sf_err said)
{
    (void)said;
    return err;
}
#define sf_fail(why, err, ...) sf_fail_is(err, sf_fail(why, err, __VA_ARGS__))
#endif

/* Out of memory. The heap: NOMEM, "no memory for WHAT". The bounded arena of a request: LIMIT,
 * "WHAT does not fit its memory". */
static inline enum sf_err sf_no_memory(struct sf_why *why, const char *what)
{
    return sf_fail(why, SF_ERR_NOMEM, "no memory for %s", what);
}
static inline enum sf_err sf_no_room(struct sf_why *why, const char *what)
{
    return sf_fail(why, SF_ERR_LIMIT, "%s does not fit its memory", what);
}

/* Puts "context: " before the existing message. */
void sf_why_prefix(struct sf_why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *sf_err_name(enum sf_err err); /* "INPUT"; constant */

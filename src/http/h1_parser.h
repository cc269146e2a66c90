/* h1_parser.h - a strict HTTP/1.1 request parser; does not use sockets.
 *
 * Feed it bytes as they arrive and fetch events until it needs more. Two parsers of one byte stream
 * must never disagree about where a request ends (request smuggling), so everything ambiguous is
 * refused: a bare LF, folded lines, blanks around names, two lengths, a length together with
 * chunks. One parser reads one request after another; each gets its own head. */
#pragma once
#include "http/head.h"

enum sf_h1_event {
    SF_H1_MORE, /* all input used */
    SF_H1_HEAD, /* the head is complete: request, content_len, is_chunked, ... are set */
    SF_H1_BODY, /* `piece` is a part of the body, borrowed from the input */
    SF_H1_END,  /* the request is complete; start the next one */
    SF_H1_BAD   /* answer with `status` (head->reason says why) and close; stays in this state */
};

struct sf_h1_parser {
    struct sf_head *head;
    struct sf_request request; /* set from the head, after HEAD */
    sf_bytes piece;
    bool is_chunked, has_len;
    bool keeps_alive, is_1_0, expects_continue;
    uint64_t content_len; /* 0 when chunked */
    int status;           /* after BAD */
    /* private below */
    int state;
    struct sf_buf line; /* a line received in pieces */
    uint64_t left;      /* remaining bytes of the body or the chunk */
    size_t extra_len;   /* bytes of chunk extensions and blank lines, which are limited */
};

void sf_h1_parser_init(struct sf_h1_parser *p);
void sf_h1_parser_done(struct sf_h1_parser *p);
/* Begins a request; `head` is reset and used until END. */
void sf_h1_parser_start(struct sf_h1_parser *p, struct sf_head *head);
/* Consumes bytes from *in. */
enum sf_h1_event sf_h1_parser_next(struct sf_h1_parser *p, sf_bytes *in);
/* Bytes of a sized body that are still to come, if the parser is in the body; else 0. */
uint64_t sf_h1_parser_body_left(const struct sf_h1_parser *p);
bool sf_h1_parser_is_in_head(const struct sf_h1_parser *p); /* the head is not complete yet */
size_t sf_h1_parser_cap(const struct sf_h1_parser *p);      /* memory held, besides the head's */

/* h1_parser.h - HTTP/1.1 requests from bytes, strictly; no sockets.
 *
 * Feed it bytes as they arrive and fetch events until it needs more. Two readers of one
 * byte stream must never disagree about where a request ends, so everything that lets them is
 * refused: a bare LF, a fold, blanks around names, two lengths, a length beside chunks. One parser
 * reads one request after another; each gets its own head. */
#pragma once
#include "http/head.h"

enum sf_h1_event {
    SF_H1_MORE, /* all input used */
    SF_H1_HEAD, /* the head is whole: request, content_len, is_chunked, ... are set */
    SF_H1_BODY, /* `piece` holds body bytes, borrowed from the input */
    SF_H1_END,  /* the request is over; start the next one */
    SF_H1_BAD   /* answer `status` (head->reason says why) and close; stays so */
};

struct sf_h1_parser {
    struct sf_head *head;
    struct sf_request request; /* its head's part, after HEAD */
    sf_bytes piece;
    bool is_chunked, has_len;
    bool keeps_alive, is_1_0, expects_continue;
    uint64_t content_len; /* 0 when chunked */
    int status;           /* after BAD */
    /* inside */
    int state;
    struct sf_buf line; /* a line that came in pieces */
    uint64_t left;      /* of the sized body or the chunk */
    size_t extra_len;   /* chunk extensions and blank lines: bytes that carry nothing */
};

void sf_h1_parser_init(struct sf_h1_parser *p);
void sf_h1_parser_done(struct sf_h1_parser *p);
/* Begins a request; `head` is reset and used until END. */
void sf_h1_parser_start(struct sf_h1_parser *p, struct sf_head *head);
/* Takes bytes off the front of *in. */
enum sf_h1_event sf_h1_parser_next(struct sf_h1_parser *p, sf_bytes *in);
/* Bytes of a sized body that have not come yet, when they are what comes next; else 0. */
uint64_t sf_h1_parser_body_left(const struct sf_h1_parser *p);
bool sf_h1_parser_is_in_head(const struct sf_h1_parser *p); /* the head is not whole yet */
size_t sf_h1_parser_cap(const struct sf_h1_parser *p);      /* memory held, besides the head's */

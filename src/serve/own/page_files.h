/* page_files.h - the web page's files, compiled in.
 *
 * tools/page builds them from web/ and writes the table; without Node it writes an empty table, and
 * `/` says how to build the page. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct sf_page_file {
    const char *path; /* "/", or "/assets/NAME" with the content's hash in the name */
    const char *content_type;
    const char *etag;    /* in quotes */
    const uint8_t *gzip; /* one gzip member */
    size_t gzip_len;
    size_t plain_len;
};

extern const struct sf_page_file sf_page_files[];
extern const size_t sf_n_page_files;

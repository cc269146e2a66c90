/* shop_http.h - a minimal HTTP/1.1 for services on loopback. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHOP_HEAD_CAP = 4096 };

/* Reads until the blank line (and as much of the body as was received with it). False: no
 * request. */
bool shop_http_read(int fd, char *out, size_t cap);
/* The value of a header, terminated; false: it is not there or too long. */
bool shop_http_header(const char *head, const char *name, char *out, size_t cap);
void shop_http_write(int fd, const char *bytes, size_t len);

int shop_http_listen(uint16_t port); /* -1: errno says why */
int shop_http_connect(uint16_t port);

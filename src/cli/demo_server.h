/* demo_server.h - the server of `spanflame demo`: a child process with a configuration of its own.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/child.h"

enum { SF_DEMO_PORTS = 4 };

struct sf_demo_server {
    const char *home;   /* a folder for its data, configuration and log */
    const char *listen; /* HOST or HOST:PORT of the page; NULL: 127.0.0.1 */
    bool is_open;       /* others may read without a token */

    char data[288], log[288];
    char url[64];    /* for the programs of this machine, always on loopback */
    char otlp[64];   /* where telemetry goes */
    char page[320];  /* for users; with this machine's name when others can reach it */
    char token[128]; /* that the server requires; "": none */
    uint16_t ports[SF_DEMO_PORTS];
    struct sf_child child;
};

/* Whether this is a HOST or HOST:PORT ([IPv6]:PORT). */
bool sf_demo_server_knows(const char *listen);
/* Fill the first fields, the rest zero. Starts it and waits until it is ready. A server that other
 * machines can reach requires a token, which is made here, unless `is_open`; the demo's own calls
 * send it. */
enum sf_err sf_demo_server_start(struct sf_demo_server *s, struct sf_why *why);
bool sf_demo_server_is_running(struct sf_demo_server *s);
void sf_demo_server_stop(struct sf_demo_server *s); /* a server that never started is fine */

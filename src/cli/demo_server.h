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
    bool is_open;       /* others may ask without a token */

    char data[288], log[288];
    char url[64];    /* for the programs of this machine, always on loopback */
    char otlp[64];   /* where telemetry goes */
    char page[320];  /* for people; the name of this machine when others can reach it */
    char token[128]; /* that the server requests; "": none */
    uint16_t ports[SF_DEMO_PORTS];
    struct sf_child child;
};

/* Is this a HOST or HOST:PORT ([IPv6]:PORT)? */
bool sf_demo_server_knows(const char *listen);
/* Fill the first fields, the rest zero. Starts it and waits until it is ready. A server that others
 * can reach requests a token, which is made here, unless `is_open`; our own calls carry it. */
enum sf_err sf_demo_server_start(struct sf_demo_server *s, struct sf_why *why);
bool sf_demo_server_is_running(struct sf_demo_server *s);
void sf_demo_server_stop(struct sf_demo_server *s); /* one that never started is fine */

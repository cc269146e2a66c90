/* mcp.h - the Model Context Protocol over HTTP: queries about traces and profiles as tools of an
 * assistant.
 *
 * One JSON-RPC message a request, one answer (the protocol's "streamable HTTP" without streams). A
 * tool is one of the server's own calls, asked on the same thread with the same tenant, limits and
 * account of memory; its text goes into the result, at most SF_LIMIT_MCP_TEXT_LEN bytes of it.
 * Names in it come from telemetry, so from anybody: they are data, and the instructions of the
 * server report it. */
#pragma once
#include "serve/call.h"

bool sf_mcp_handle(struct sf_call *call, struct sf_worker *worker);

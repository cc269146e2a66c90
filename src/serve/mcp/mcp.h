/* mcp.h - the Model Context Protocol over HTTP: queries about traces and profiles as tools of an
 * assistant.
 *
 * One JSON-RPC message a request, one answer (the protocol's "streamable HTTP" without streams). A
 * tool is one of the server's own calls, run on the same thread with the same tenant, limits and
 * memory account; its text goes into the result, at most SF_LIMIT_MCP_TEXT_LEN bytes of it. Names
 * in it come from telemetry, so anybody may have chosen them: the server's instructions to
 * assistants say that they are data. */
#pragma once
#include "serve/call.h"

bool sf_mcp_handle(struct sf_call *call, struct sf_worker *worker);

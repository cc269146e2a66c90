/* mcp_command.h - spanflame mcp: passes an assistant's MCP messages from standard input to a
 * server. */
#pragma once

int sf_mcp_command_run(int argc, char **argv);

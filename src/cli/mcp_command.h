/* mcp_command.h - spanflame mcp: an assistant's queries from standard input to a server. */
#pragma once

int sf_mcp_command_run(int argc, char **argv);

/* mcp_command.h - spanflame mcp: an assistant's questions from standard input to a server. */
#pragma once

int sf_mcp_command_run(int argc, char **argv);

/* serve_command.h - spanflame serve: runs the server in the foreground until a signal ends it. */
#pragma once

int sf_serve_command_run(int argc, char **argv);

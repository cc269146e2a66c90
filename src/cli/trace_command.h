/* trace_command.h - spanflame trace ID: one trace as a waterfall. */
#pragma once

int sf_trace_command_run(int argc, char **argv);

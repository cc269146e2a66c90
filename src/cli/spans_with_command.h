/* spans_with_command.h - spanflame spans-with: the spans that ran a function. */
#pragma once

int sf_spans_with_command_run(int argc, char **argv);

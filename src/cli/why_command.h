/* why_command.h - spanflame why: explains the duration of a span, a trace, the spans of a query or
 * a deploy. */
#pragma once

int sf_why_command_run(int argc, char **argv);

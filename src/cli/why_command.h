/* why_command.h - spanflame why: why a span, a trace, a query's spans or a deploy take so long. */
#pragma once

int sf_why_command_run(int argc, char **argv);

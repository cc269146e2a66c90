/* keep_command.h - spanflame keep: what rules would keep of the samples of single requests. */
#pragma once

int sf_keep_command_run(int argc, char **argv);

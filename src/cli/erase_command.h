/* erase_command.h - spanflame erase: take traces, a service or a time range out of the store. */
#pragma once

int sf_erase_command_run(int argc, char **argv);

/* erase_command.h - spanflame erase: deletes traces, a service or a time range from the store. */
#pragma once

int sf_erase_command_run(int argc, char **argv);

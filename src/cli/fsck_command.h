/* fsck_command.h - spanflame fsck DIR: checks all files of a data directory. */
#pragma once

int sf_fsck_command_run(int argc, char **argv);

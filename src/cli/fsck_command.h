/* fsck_command.h - spanflame fsck DIR: is everything in a data directory as it should be? */
#pragma once

int sf_fsck_command_run(int argc, char **argv);

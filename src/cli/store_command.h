/* store_command.h - spanflame store: the remote store of a node. */
#pragma once
int sf_store_command_run(int argc, char **argv);

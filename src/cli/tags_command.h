/* tags_command.h - spanflame tags [NAME]: which attributes there are, and which values one has. */
#pragma once

int sf_tags_command_run(int argc, char **argv);

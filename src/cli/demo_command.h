/* demo_command.h - spanflame demo: a server, a shop with planted problems, and the commands that
 * find them. */
#pragma once

int sf_demo_command_run(int argc, char **argv);

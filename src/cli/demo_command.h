/* demo_command.h - spanflame demo: a server, a story, and the commands that read it. */
#pragma once

int sf_demo_command_run(int argc, char **argv);

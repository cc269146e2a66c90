/* deploys_command.h - spanflame deploys: lists versions with their start times, reports one,
 * compares two. */
#pragma once

int sf_deploys_command_run(int argc, char **argv);

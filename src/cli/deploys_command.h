/* deploys_command.h - spanflame deploys: which versions began when; tell of one; compare two. */
#pragma once

int sf_deploys_command_run(int argc, char **argv);

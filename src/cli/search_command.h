/* search_command.h - spanflame search 'QUERY': which traces match. */
#pragma once

int sf_search_command_run(int argc, char **argv);

/* version.h - the version as the build knows it. */
#pragma once

const char *sf_version(void); /* "0.1.0"; borrowed for ever */

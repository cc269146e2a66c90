#include "collect/lib/hook_thread.h"

__thread struct sf_hook_thread sf_hook_self;

/* adhoc.h - adhocprofiles.v1.AdHocProfileService: profiles uploaded to be viewed or compared; they
 * are not part of the store. */
#pragma once
#include "serve/call.h"

bool sf_adhoc_upload(struct sf_call *call, struct sf_worker *worker);
bool sf_adhoc_get(struct sf_call *call, struct sf_worker *worker);
bool sf_adhoc_list(struct sf_call *call, struct sf_worker *worker);
bool sf_adhoc_diff(struct sf_call *call, struct sf_worker *worker);

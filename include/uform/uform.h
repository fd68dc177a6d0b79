/**
 *  UForm: texts in, embeddings out. This header includes all others.
 */
#ifndef UFORM_UFORM_H
#define UFORM_UFORM_H

#include "uform/capabilities.h"
#include "uform/devices.h"
#include "uform/executor.h"
#include "uform/image.h"
#include "uform/model.h"
#include "uform/status.h"
#include "uform/types.h"

#endif

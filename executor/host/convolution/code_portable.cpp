#define CLEAVE_CODE_NAME portable
#define CLEAVE_CODE_BYTES 16
#include "executor/host/convolution/code_body.h"

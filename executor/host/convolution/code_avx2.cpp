#define CLEAVE_CODE_NAME avx2
#define CLEAVE_CODE_BYTES 32
#include "executor/host/convolution/code_body.h"

#define CLEAVE_CODE_NAME avx512
#define CLEAVE_CODE_BYTES 64
#include "executor/host/convolution/code_body.h"

#define CLEAVE_CODE_NAME avx2
#define CLEAVE_CODE_BYTES 32
#define CLEAVE_CODE_ROWS 6
#define CLEAVE_CODE_REGISTERS 2
#include "executor/host/quantized/code_body.h"

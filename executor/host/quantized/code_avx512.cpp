#define CLEAVE_CODE_NAME avx512
#define CLEAVE_CODE_BYTES 64
#define CLEAVE_CODE_ROWS 8
#define CLEAVE_CODE_REGISTERS 3
#include "executor/host/quantized/code_body.h"

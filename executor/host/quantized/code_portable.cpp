#define CLEAVE_CODE_NAME portable
#define CLEAVE_CODE_BYTES 16
#define CLEAVE_CODE_ROWS 4
#define CLEAVE_CODE_REGISTERS 2
#include "executor/host/quantized/code_body.h"

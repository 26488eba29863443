#define CLEAVE_CODE_NAME vnni
#define CLEAVE_CODE_VNNI
#define CLEAVE_CODE_BYTES 64
#define CLEAVE_CODE_ROWS 8
#define CLEAVE_CODE_REGISTERS 3
#include "executor/host/quantized/code_body.h"

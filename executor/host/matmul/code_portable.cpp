#define CLEAVE_CODE_NAME portable
#define CLEAVE_CODE_BYTES 16
#define CLEAVE_CODE_ROWS 4
#include "executor/host/matmul/code_body.h"

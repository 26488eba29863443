#define CLEAVE_CODE_NAME avx2
#define CLEAVE_CODE_BYTES 32
#define CLEAVE_CODE_ROWS 4
#include "executor/host/matmul/code_body.h"

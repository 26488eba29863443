#define CLEAVE_CODE_NAME avx512
#define CLEAVE_CODE_BYTES 64
#define CLEAVE_CODE_ROWS 8
#include "executor/host/matmul/code_body.h"

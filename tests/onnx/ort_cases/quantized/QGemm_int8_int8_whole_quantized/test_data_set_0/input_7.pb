BY_zero_pointJ

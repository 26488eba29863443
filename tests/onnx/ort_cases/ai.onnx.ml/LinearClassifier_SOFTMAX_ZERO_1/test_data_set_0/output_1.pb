BscoresJ(<O?—C>·2S?#53>g½S?c
1>kS?¤S2>‚`R?ù}6>
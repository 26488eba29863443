
BgammaJÁ»‡¬Ï:•<!¹y<˜=W©
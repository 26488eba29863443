BinputJ0Fh´Wxf´ÇžßÃ·÷¸‚Òýæ”
÷–U³´†‚›LQÁMvG*ZI•:tŽ˜£
Bweight_scaleJ
v<
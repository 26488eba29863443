BinputJ0ñðÁ²tžoåhl•†‰#J>ñ\cž'ìR?@ïÚX¹:«jtOu5Ö£ÒI-‚
Ð
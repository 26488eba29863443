BYJ€JÀÿA™}
B ÀNBþëµAÉÏEÁ²xÆ@•4ò@DLAJÀÿA™}
B ÀNBþëµAÛJ&Áö[êAµQCAŒš[A&±ANy€Ao!B¡@ÉÏEÁ²xÆ@•4ò@DLA&±ANy€Ao!B¡@@ÏEÁ…Æ@7ò@‡LA¿§¶A^ÆâA‚FBg¶žAð"Àº¶A¿ÿgAÃ½âA¬XAaÚáAÅ8ÂAû¤ŠAð"Àº¶A¿ÿgAÃ½âA¾XA{ÚáAFÂAF§ŠAð"Àº¶A¿ÿgAÃ½âA¬XAaÚáAÅ8ÂAû¤ŠAð"Àº¶A¿ÿgAÃ½âA
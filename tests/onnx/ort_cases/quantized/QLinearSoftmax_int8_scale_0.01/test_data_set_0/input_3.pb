BY_scaleJ
×#<
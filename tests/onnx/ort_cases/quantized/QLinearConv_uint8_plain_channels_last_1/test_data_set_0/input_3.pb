BY_scaleJ\²
A
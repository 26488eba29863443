
BscaleJ<»»ºÞ¾ã¸
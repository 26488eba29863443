BzerosJ
m±ó	/G
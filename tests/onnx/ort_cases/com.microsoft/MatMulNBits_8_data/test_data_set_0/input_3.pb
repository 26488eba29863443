BzerosJ
Åm›í[Á fÙæ‘A
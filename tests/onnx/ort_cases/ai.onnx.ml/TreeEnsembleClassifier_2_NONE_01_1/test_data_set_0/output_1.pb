BscoresJ8ùD?mP¬¿ùD?mP¬¿ÐÔ
?Ñ²¹>F ž¿«HÈ=V­¦?ŒÀ2?ùD?mP¬¿F ž¿«HÈ=
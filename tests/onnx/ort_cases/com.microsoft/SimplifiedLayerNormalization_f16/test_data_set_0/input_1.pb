
BscaleJŸ¼D¼S;!6
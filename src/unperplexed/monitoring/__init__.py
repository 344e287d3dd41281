"""Gates: what is required of forecasts, tested against chance."""

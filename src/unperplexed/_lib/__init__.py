"""Errors, arrays of any library, text of numbers, files written whole, progress: nothing of forecasts."""

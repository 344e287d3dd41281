"""Where forecasts are wrong: groups of rows, described by rules, that err beyond the error that all rows share."""

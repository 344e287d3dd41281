"""From a source of forecasts to one tally: each engine a module, each with a function that gives a `Tally`."""

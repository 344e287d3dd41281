"""Maps from forecasts to better ones, how well they fit, and the fitter that climbs any of these likelihoods.

A map says what it does to a forecast; a likelihood says how well it fits cells, rows or sums over rows. A diagnosis is
a choice among maps, a remedy an average of them. This folder knows arrays only.
"""

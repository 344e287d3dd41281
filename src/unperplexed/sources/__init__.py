"""From a source of forecasts to one tally: each engine a module, each with a function that gives a `Tally`.

`map_reduce` says what is done with each part of the rows, a file or a partition, and how what comes of them adds up.
"""

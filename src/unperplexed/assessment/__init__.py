"""One forecaster: metrics, intervals, tables of classes and groups."""

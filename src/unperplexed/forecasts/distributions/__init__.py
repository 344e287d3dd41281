"""Predictive distributions of numbers: what people have of them, and where outcomes fall in them."""

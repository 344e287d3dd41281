"""Labels, probabilities and weights, checked here and only here."""

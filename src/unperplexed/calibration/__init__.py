"""How often events happen that have a predicted probability, what is wrong, and by how much."""

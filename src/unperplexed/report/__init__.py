"""Writes an Assessment for people: as text, and as a card in a notebook."""

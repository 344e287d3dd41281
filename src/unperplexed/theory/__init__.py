"""The papers' mathematics, usable by itself: information, the coupled family, models of two classes."""

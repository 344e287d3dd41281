"""Scoring rules."""

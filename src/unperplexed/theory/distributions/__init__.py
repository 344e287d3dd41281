"""The coupled family of distributions: heavy tails, the exponential family and compact support in one parameter."""

"""Every figure and table of the sources made anew, beside what their print says: ``python -m papers``.

[N17] K. P. Nelson, Assessing Probabilistic Inference by Comparing the Generalized Mean of the Model and Source
Probabilities, Entropy 19 (2017) 286. [RP] K. P. Nelson, Reduced Perplexity: a simplified perspective on assessing
probabilistic forecasts. [CM] the paper on classifier metrics at scale. [SSR] the README of superior-scoring-rules.
Nothing of the package is used but its public names.
"""

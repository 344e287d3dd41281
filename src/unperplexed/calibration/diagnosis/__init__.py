"""What is wrong with forecasts, decided without bins, floor or random numbers: `Diagnosis`, and how it is found.

`binary` decides for two classes: `gate` tests whether anything is wrong, and `binary_search` finds which errors it is,
such as a bias. `multiclass` decides for more classes, with `class_tests` and `class_search`.
"""

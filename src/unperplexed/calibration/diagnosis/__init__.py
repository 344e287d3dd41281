"""What is wrong with forecasts, decided without bins, floor or random numbers: `Diagnosis`, and how it is found."""

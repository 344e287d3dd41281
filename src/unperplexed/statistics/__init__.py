"""Functions of numbers that any statistician uses: means, standard errors, intervals, empirical Bayes."""

"""The one error a user of bad input sees."""


class InputError(ValueError):
    """Input that cannot be assessed as it stands.

    The message names the rows (counted from 0), the column and the remedy. The command line prints it and
    leaves with exit code 2.
    """

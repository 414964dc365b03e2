"""The one exception that users see: its text names what was wrong, what was expected and what to do."""


class StiffaxError(ValueError):
    """Something in the problem, the arguments or the files is not usable; the message says what and how to mend it."""

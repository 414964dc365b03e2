"""What users are told: errors that stop, and warnings that do not."""


class StiffaxError(ValueError):
    """Something in the problem, the arguments or the files is not usable; the message says what and how to mend it."""


class StiffaxWarning(UserWarning):
    """Something in a problem looks wrong but may be meant; the message says what."""

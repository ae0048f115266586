"""The one exception that is shown to the user as a sentence."""


class UserError(Exception):
    """Bad input from the user: what is wrong, where, and what is allowed, in one sentence.

    The command line prints the message and exits with code 2, without a traceback.
    """

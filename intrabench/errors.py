"""The one exception that users are meant to read."""


class IntraBenchError(Exception):
    """A message for the user: one sentence that names the file or option, what was expected and what to do next."""


class NotApplicable(IntraBenchError):
    """The model cannot take these prompts, not even adapted; the session gets the status ``not_applicable``."""

"""What can go wrong in the operator, as one tree. Never knows how an error is shown.

OperatorError
├── ManifestError       the manifest is not a valid EmbeddingModel
├── SourceError         the model cannot be brought to this machine
├── LocalError          the processes cannot be run here: port taken, program missing
└── ChildError          a program that was started did not get ready
"""


class OperatorError(Exception):
    """An error that a user can act on. Its text is one or more whole lines, fit to be printed as they are."""


class ManifestError(OperatorError):
    """The manifest is not a valid EmbeddingModel."""


class SourceError(OperatorError):
    """The model cannot be brought to this machine."""


class LocalError(OperatorError):
    """The processes cannot be run on this machine as asked."""


class ChildError(OperatorError):
    """A program that was started ended, or did not get ready in time."""

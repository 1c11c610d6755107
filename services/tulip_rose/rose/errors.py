"""What can go wrong in ROSE.

RoseError
├── LoadError        the model cannot be served; one line that names the file and the key
├── StepError        one batch failed; the engine goes on
└── EngineDeadError  the engine cannot go on; the process has to end
"""


class RoseError(Exception):
    """Any failure of the engine."""


class LoadError(RoseError):
    """The model in the folder cannot be served as asked. Raised before the engine serves anything."""


class StepError(RoseError):
    """A step raised: its batch is lost, the next one is not."""


class EngineDeadError(RoseError):
    """The engine thread or its device is gone; nothing can be embedded any more."""

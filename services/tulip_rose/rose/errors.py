"""What can go wrong in ROSE.

RoseError
├── LoadError        the model cannot be served; one line that names the file and the key
│   └── TrialError     the step that is tried when it is loaded fails
├── StepError        one batch failed; the engine goes on
│   └── TooLargeError  it has no room on the device; halves of it may have
└── EngineDeadError  the engine cannot go on; the process has to end
"""


class RoseError(Exception):
    """Any failure of the engine."""


class LoadError(RoseError):
    """The model in the folder cannot be served as asked. Raised before the engine serves anything."""


class TrialError(LoadError):
    """Nothing stands against the model, and its first step fails all the same."""


class StepError(RoseError):
    """A step raised: its batch is lost, the next one is not."""


class TooLargeError(StepError):
    """A batch has no room on the device: in its memory, or in the steps that there are. Halves of it may have."""


class EngineDeadError(RoseError):
    """The engine thread or its device is gone; nothing can be embedded any more."""

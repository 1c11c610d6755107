"""`python -m trellis_operator.local.tether PARENT_PID ARGUMENT...`: becomes `python ARGUMENT...`, tied to its parent.

Linux kills a tethered program when its parent dies, even by SIGKILL, so that nothing is left behind. The tie
survives exec. It is made here, in a process of its own, and not between fork and exec of the parent, where code
of a threaded program may deadlock. Other systems have no such tie: there a killed parent leaves its programs.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie, look whether the parent is still there, and become the program."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent has gone")
    os.execv(sys.executable, [sys.executable, *command])  # noqa: S606  (no shell is wanted)


if __name__ == "__main__":
    main()

"""`python -m trellis_operator run`, but that its watches lose patience within seconds; it has the same flags."""

import argparse

from trellis_operator.cluster.flags import add_run_flags, operator_config
from trellis_operator.cluster.pace import Pace
from trellis_operator.cluster.run import run_operator

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    add_run_flags(parser)
    run_operator(operator_config(parser.parse_args()), Pace(silence_s=4.0, first_pause_s=0.1, last_pause_s=1.0))

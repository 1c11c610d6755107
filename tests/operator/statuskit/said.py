"""What conditions say, in short."""

from trellis_operator.status.status import conditions
from trellis_operator.status.view import View


def said(seen: View) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in conditions(seen)}

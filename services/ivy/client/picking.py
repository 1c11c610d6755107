"""Who is asked, who is left out for a while, and whose model counts. Decisions only; pure."""

from collections.abc import Sequence
from random import Random

from ivy.client.endpoint import Endpoint

FAILURES_TO_EJECT = 3
FIRST_EJECTION_S = 1.0
LONGEST_EJECTION_S = 60.0


def pick(
    endpoints: Sequence[Endpoint],
    digest: str,
    tokens: int,
    now: float,
    random: Random,
    avoid: Endpoint | None = None,
) -> Endpoint | None:
    """Of two engines taken at random, the one that is less loaded.

    Asking the least loaded of all would send every gateway's work to the same engine at the same time.

    Args:
        endpoints: all that there are.
        digest: of the model that the answer must come from.
        tokens: what the call weighs.
        now: on the clock of the endpoints.
        random: picks the two.
        avoid: one that was asked before.

    Returns:
        None where no engine serves this model.
    """
    ready = [each for each in endpoints if each is not avoid and each.serves(digest)]
    # Where all that are ready are ejected, one of them is still the best guess.
    able = [each for each in ready if each.ejected_until <= now] or ready
    if len(able) < 2:
        return able[0] if able else None
    one, other = random.sample(able, 2)
    return one if one.load(tokens, now) <= other.load(tokens, now) else other


def ejection_s(endpoint: Endpoint, endpoints: Sequence[Endpoint], now: float) -> float:
    """For how long an engine that has just failed is left out; 0: it is not.

    Never more than half of the engines are out at a time: when all fail, it is not they that are bad.
    """
    out = sum(each.ejected_until > now for each in endpoints if each is not endpoint)
    if endpoint.failures < FAILURES_TO_EJECT or endpoint.ejected_until > now or (out + 1) * 2 > len(endpoints):
        return 0.0
    return float(min(FIRST_EJECTION_S * 2**endpoint.ejections, LONGEST_EJECTION_S))


def pinned(wanted: str | None, current: str | None, endpoints: Sequence[Endpoint]) -> str | None:
    """The digest whose engines are used.

    Args:
        wanted: the only one that may be; None: any.
        current: the one so far; None: there was none.
        endpoints: all that there are.

    Returns:
        The one so far as long as any engine of it is ready, then that of the first other engine that is.
    """
    if wanted is not None:
        return wanted
    ready = [each.card.digest for each in endpoints if each.ready and each.card is not None]
    return current if current in ready or not ready else ready[0]

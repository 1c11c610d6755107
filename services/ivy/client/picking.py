"""Who is asked, who is left out for a while, and whose model counts. Decisions only; pure."""

from collections.abc import Sequence
from heapq import nlargest
from random import Random

from ivy.client.endpoint import Endpoint
from ivy.client.target import Standing

FAILURES_TO_EJECT = 3
FIRST_EJECTION_S = 1.0
LONGEST_EJECTION_S = 60.0
CLEARLY_SLOWER = 1.5
"""Smaller differences in speed are the noise of short and long texts."""
MOST_SLOWER = 4.0
"""More than this is not believed: a single cold call must not starve an engine."""


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
    able = not_ejected(usable([each for each in endpoints if each is not avoid], digest), now)
    if len(able) < 2:
        return able[0] if able else None
    one, other = _two(able, now, random)
    return other if other.load(tokens, now) * _slower(other, one, now) < one.load(tokens, now) else one


def usable(endpoints: Sequence[Endpoint], digest: str) -> list[Endpoint]:
    """The best engines that there are for this model; each sort is asked only while there is none of a better one.

    First those that count as ready where they were found and say so themselves. Then those that only say so: when a
    cluster has lost sight of its nodes, the engines' own word is the better one. At last those on their way out, which
    take calls until their drain is over: a replacement may be ready for the cluster and not yet seen from here.
    """
    serving = [each for each in endpoints if each.serves(digest)]
    ready = [each for each in serving if each.standing is Standing.READY]
    return ready or serving or [each for each in endpoints if each.lingers(digest)]


def not_ejected(endpoints: Sequence[Endpoint], now: float) -> list[Endpoint]:
    """The engines that are not left out: always at least half of them, also when others went away meanwhile."""
    out = [each for each in endpoints if each.ejected_until > now]
    if not out:
        return list(endpoints)
    longest = nlargest(len(endpoints) // 2, out, key=lambda each: each.ejected_until)
    return [each for each in endpoints if not any(each is left_out for left_out in longest)]


def ejection_s(endpoint: Endpoint, endpoints: Sequence[Endpoint], now: float) -> float:
    """For how long an engine that has just failed is left out; 0: it is not.

    Never more than half of the engines that serve are out at a time: when all fail, it is not they that are bad.
    """
    serving = [each for each in endpoints if each.ready or each is endpoint]
    out = sum(each.ejected_until > now for each in serving if each is not endpoint)
    if endpoint.failures < FAILURES_TO_EJECT or endpoint.ejected_until > now or (out + 1) * 2 > len(serving):
        return 0.0
    return float(min(FIRST_EJECTION_S * 2**endpoint.ejections, LONGEST_EJECTION_S))


def pinned(wanted: str | None, current: str | None, endpoints: Sequence[Endpoint], texts: str = "") -> str | None:
    """The digest whose engines are used, contents included.

    Engines of one model may hold different contents, where its source can change. All gateways are to ask those of the
    same, also one that starts when both are there: so the one that has been ready for longest counts.

    Args:
        wanted: the only model that may be; None: any.
        current: the one so far; None: there was none.
        endpoints: all that there are.
        texts: a name for the files that this gateway reads; empty: any will do.

    Returns:
        The one so far as long as any engine of it is ready to stay, then that of another engine that is.
    """
    fitting = [each for each in endpoints if each.ready and each.card is not None and each.card.fits(wanted, texts)]
    staying = [each for each in fitting if each.standing is not Standing.LEAVING] or fitting
    cards = [each.card for each in staying if each.card is not None]
    if not cards:
        return current or wanted
    oldest = min(cards, key=lambda card: card.ready_since)
    return current if current in [card.digest for card in cards] else oldest.digest


def set_aside(digest: str | None, endpoints: Sequence[Endpoint]) -> set[str]:
    """The addresses of engines that are ready and get nothing: they hold something else than this digest."""
    ready = [each for each in endpoints if each.ready and each.card is not None]
    return {each.address for each in ready if each.card is not None and each.card.digest != digest}


def _two(able: Sequence[Endpoint], now: float, random: Random) -> list[Endpoint]:
    """Two at random, by their shares: an engine in its slow start is less often among them, and less often first."""
    shares = [each.share(now) for each in able]
    if min(shares) == 1.0:
        return random.sample(able, 2)
    ranks = [random.random() ** (1 / share) for share in shares]
    return [able[place] for place in nlargest(2, range(len(able)), key=ranks.__getitem__)]


def _slower(one: Endpoint, other: Endpoint, now: float) -> float:
    """How many times slower than `other` the engine `one` is; 1 where it is not clear."""
    own, its = one.speed.seconds_per_token(now), other.speed.seconds_per_token(now)
    if not own or not its or max(own, its) < CLEARLY_SLOWER * min(own, its):
        return 1.0
    return min(max(own / its, 1 / MOST_SLOWER), MOST_SLOWER)

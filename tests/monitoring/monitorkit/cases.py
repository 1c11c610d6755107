"""Situations in which each alert must fire, and in which it must not, close to what its rule says on either side."""

from monitorkit.case import Case
from monitorkit.floors import Floor
from monitorkit.series import (
    MODEL,
    OPERATOR,
    POD,
    WHOLE,
    answers,
    began,
    counted,
    digests,
    download,
    engine,
    every_minute,
    queue,
    requests,
    starting,
    visits,
)
from monitorkit.shares import Share

_UP = "trellis_gateway_endpoint_up"
_EJECTED = "trellis_gateway_ejections_total"
_NOT_FINITE = "trellis_engine_nonfinite_rows_total"
_FAILED = "trellis_engine_step_failures_total"
_UNCAPTURED = "trellis_engine_graph_capture_failures_total"
_UNDER_WAY = counted("trellis_gateway_requests_in_flight", "0x600")
_LEADER = f"trellis_operator_is_leader{{{OPERATOR}}}"
_OPERATORS = 'namespace="o"'
_PART_CAME = "0+1000000x20 20000000x600"
_UNSERVED = f"trellis_operator_unserved_models{{{OPERATOR}}}"
_SMALL = f'{MODEL},max_tokens="512"'


def _errors(*shares: tuple[int, float]) -> dict[str, str]:
    """1000 requests a minute; for so many minutes each, a share of them fails."""
    failed = [1000 * share for minutes, share in shares for _ in range(minutes)]
    return requests(_200=every_minute(1000 - each for each in failed), _500=every_minute(failed))


def _late(*shares: tuple[int, float]) -> dict[str, str]:
    """100 small requests a minute; for so many minutes each, a share of them is late."""
    return answers("512", "1.0", every_minute(100 * (1 - share) for minutes, share in shares for _ in range(minutes)))


def _jump(name: str, size: int, minute: int, *more: str) -> dict[str, str]:
    """A counter of a pod that grows once."""
    return counted(name, f"0x{minute - 1} {size}x600", *more)


def _mismatches(values: str) -> dict[str, str]:
    return counted("trellis_engine_calls_total", values, 'code="FAILED_PRECONDITION"')


def _asleep(values: str) -> dict[str, str]:
    return _UNDER_WAY | counted("trellis_gateway_asleep", values)


def _two_asleep(other: str) -> dict[str, str]:
    """Two gateways of a model, of which one sleeps."""
    return _asleep("1x600") | {f'trellis_gateway_asleep{{{MODEL},pod="q"}}': other}


def _endpoint(values: str) -> dict[str, str]:
    return _UNDER_WAY | counted(_UP, values, 'engine="e"')


def _blocked(values: str, kind: str = "Accepted", status: str = "False") -> dict[str, str]:
    return {f'trellis_operator_conditions{{{OPERATOR},type="{kind}",status="{status}"}}': values}


_OBJECTIVES = (
    Case("TrellisErrorsFast", "one of fifty fails", _errors((120, 0.02)), "119m", MODEL),
    Case("TrellisErrorsFast", "one of a thousand fails", _errors((120, 0.001)), "119m"),
    Case("TrellisErrorsFast", "callers' mistakes", requests(_200="0+50x600", _400="0+50x600", _500="0x600"), "70m"),
    Case("TrellisErrorsFast", "much lately, little in an hour", _errors((60, 0), (12, 0.05)), "72m"),
    Case("TrellisErrorsFast", "much in an hour, little lately", _errors((60, 0.05), (15, 0.01)), "75m"),
    Case("TrellisErrorsFast", "it is over", _errors((60, 0.05), (10, 0)), "70m"),
    Case("TrellisErrorsFast", "for a minute", _errors((60, 0), (60, 1)), "62m30s"),
    Case("TrellisErrorsFast", "for three minutes", _errors((60, 0), (60, 1)), "64m", MODEL),
    Case("TrellisErrorsFast", "nobody asks", requests(_200="0x600", _500="0x600"), "70m"),
    Case("TrellisErrorsSlow", "one of a hundred fails", _errors((400, 0.009)), "390m", MODEL),
    Case("TrellisErrorsSlow", "much lately, little in six hours", _errors((300, 0), (100, 0.02)), "390m"),
    Case("TrellisErrorsSlow", "much in six hours, little lately", _errors((340, 0.02), (60, 0.004)), "390m"),
    Case("TrellisErrorsSlow", "for ten minutes", _errors((360, 0), (60, 1)), "374m"),
    Case("TrellisErrorsSlow", "for twenty minutes", _errors((360, 0), (60, 1)), "384m", MODEL),
    Case("TrellisSlowAnswers", "small ones are late", _late((120, 0.2)), "119m", _SMALL),
    Case("TrellisSlowAnswers", "medium ones are late", answers("8192", "10.0", "0+80x600"), "70m", 'max_tokens="8192"'),
    Case("TrellisSlowAnswers", "large ones are late", answers("any", "100.0", "0+80x600"), "70m", 'max_tokens="any"'),
    Case("TrellisSlowAnswers", "few are late", _late((120, 0.05)), "119m"),
    Case("TrellisSlowAnswers", "many lately, few in an hour", _late((60, 0), (12, 0.5)), "72m"),
    Case("TrellisSlowAnswers", "many in an hour, few lately", _late((60, 0.3), (12, 0.1)), "72m"),
    Case("TrellisSlowAnswers", "it is over", _late((60, 0.3), (12, 0)), "72m"),
    Case("TrellisSlowAnswers", "for a minute", _late((60, 0), (60, 1)), "70m30s"),
    Case("TrellisSlowAnswers", "for three minutes", _late((60, 0), (60, 1)), "72m", _SMALL),
    Case("TrellisLateSlow", "one of eleven is late", _late((400, 0.09)), "390m", _SMALL),
    Case("TrellisLateSlow", "medium ones", answers("8192", "10.0", "0+80x600"), "390m", 'max_tokens="8192"'),
    Case("TrellisLateSlow", "large ones", answers("any", "100.0", "0+80x600"), "390m", 'max_tokens="any"'),
    Case("TrellisLateSlow", "many lately, few in six hours", _late((300, 0), (100, 0.2)), "390m"),
    Case("TrellisLateSlow", "many in six hours, few lately", _late((340, 0.2), (60, 0.04)), "390m"),
    Case("TrellisLateSlow", "for ten minutes", _late((360, 0), (100, 1)), "391m"),
    Case("TrellisLateSlow", "for twenty minutes", _late((360, 0), (100, 1)), "401m", _SMALL),
    Case("TrellisLateSlow", "nobody asks", answers("512", "1.0", "0+100x600"), "390m"),
    Case(
        "TrellisSlowAnswers",
        "large ones take ten seconds, as they may",
        answers("any", "100.0", "0+100x600")
        | {f'trellis_gateway_request_seconds_bucket{{{POD},max_tokens="any",le="1.0"}}': "0x600"},
        "70m",
    ),
)


def _all_late(late: str) -> dict[str, str]:
    """Small requests that are all late."""
    labels = f'{POD},max_tokens="512"'
    return {
        f'trellis_gateway_request_seconds_bucket{{{labels},le="1.0"}}': "0x600",
        f"trellis_gateway_request_seconds_count{{{labels}}}": late,
    }


def _all_fail(failed: str) -> dict[str, str]:
    return requests(_200="0x600", _500=failed)


_FLOORS = (
    *Floor("TrellisErrorsFast", _all_fail, window=60, wait=2, fires=MODEL).cases(),
    *Floor("TrellisErrorsSlow", _all_fail, window=360, wait=15, fires=MODEL).cases(),
    *Floor("TrellisSlowAnswers", _all_late, window=60, wait=2, fires=_SMALL).cases(),
    *Floor("TrellisLateSlow", _all_late, window=360, wait=15, fires=_SMALL).cases(),
)

_SHARES = (
    *Share(
        "TrellisRefusing", lambda good, bad: requests(_200=good, _429=bad), part=0.05, window=5, wait=10, fires=MODEL
    ).cases(),
    *Share(
        "TrellisKeysRefused", lambda good, bad: requests(_200=good, _401=bad), part=0.2, window=10, wait=15, fires=MODEL
    ).cases(),
    *Share("TrellisOperatorFailing", visits, part=0.2, window=10, wait=10, fires='namespace="o"').cases(),
)

_SERVICE = (
    Case("TrellisQueueGrowing", "42 seconds of work wait", queue("42000x600", "0+60000x600"), "15m", MODEL),
    Case("TrellisQueueGrowing", "work waits, and none is taken", queue("10x600", "0x600"), "15m", MODEL),
    Case("TrellisQueueGrowing", "21 seconds of work wait", queue("21000x600", "0+60000x600"), "15m"),
    Case("TrellisQueueGrowing", "nothing waits, nothing is taken", queue("0x600", "0x600"), "15m"),
    Case("TrellisQueueGrowing", "for three minutes", queue("0x19 90000x600", "0+60000x600"), "23m30s"),
    Case("TrellisQueueGrowing", "for seven minutes", queue("0x19 90000x600", "0+60000x600"), "27m", MODEL),
    Case(
        "TrellisQueueGrowing",
        "engines became slow",
        queue("6000x600", every_minute([60_000] * 20 + [1000] * 60)),
        "32m",
        MODEL,
    ),
    Case(
        "TrellisQueueGrowing",
        "engines take in gulps",
        queue("4500x600", every_minute([20_000, 0, 0, 0] * 20)),
        "70m",
        MODEL,
    ),
    Case("TrellisNoReadyEngine", "none is known", _UNDER_WAY, "5m", MODEL),
    Case("TrellisNoReadyEngine", "none is ready", _endpoint("0x600"), "5m", MODEL),
    Case("TrellisNoReadyEngine", "one is", _endpoint("1x600"), "5m"),
    Case("TrellisNoReadyEngine", "for a minute", _endpoint("1x9 0x600"), "11m30s"),
    Case("TrellisNoReadyEngine", "for three minutes", _endpoint("1x9 0x600"), "13m", MODEL),
    Case("TrellisNoReadyEngine", "it sleeps", _asleep("1x600"), "30m"),
    Case("TrellisNoReadyEngine", "it was to wake 6 minutes ago", _asleep("1x9 0x600"), "15m"),
    Case("TrellisNoReadyEngine", "it was to wake 8 minutes ago", _asleep("1x9 0x600"), "17m", MODEL),
    Case(
        "TrellisNoReadyEngine", "nobody asks one of two gateways, the other waits", _two_asleep("0x600"), "17m", MODEL
    ),
    Case("TrellisNoReadyEngine", "both sleep", _two_asleep("1x600"), "30m"),
    Case("TrellisNoGateway", "an engine serves for seven minutes", counted("trellis_engine_up", "1x600"), "7m", MODEL),
    Case("TrellisNoGateway", "for four minutes", counted("trellis_engine_up", "1x600"), "4m"),
    Case("TrellisNoGateway", "one runs", counted("trellis_engine_up", "1x600") | _UNDER_WAY, "30m"),
    Case("TrellisNoGateway", "there is no engine either", counted("trellis_engine_up", "0x600"), "30m"),
    Case("TrellisEnginesEjected", "7 times in 10 minutes", counted(_EJECTED, "0+0.7x60", 'engine="e"'), "50m", MODEL),
    Case("TrellisEnginesEjected", "4 times", counted(_EJECTED, "0+0.4x60", 'engine="e"'), "50m"),
    Case("TrellisEnginesEjected", "it has just begun", _jump(_EJECTED, 9, 30, 'engine="e"'), "30m45s"),
    Case("TrellisEnginesEjected", "it has lasted", _jump(_EJECTED, 9, 30, 'engine="e"'), "31m30s", MODEL),
    Case("TrellisEnginesUnknown", "for 14 minutes", counted("trellis_gateway_sync_age_seconds", "840x60"), "50m", POD),
    Case("TrellisEnginesUnknown", "for 7 minutes", counted("trellis_gateway_sync_age_seconds", "420x60"), "50m"),
    Case("TrellisEnginesUnknown", "lately", counted("trellis_gateway_sync_age_seconds", "0x19 900x60"), "23m"),
    Case("TrellisEnginesUnknown", "and on", counted("trellis_gateway_sync_age_seconds", "0x19 900x60"), "27m", POD),
)

_ENGINES = (
    Case("TrellisWarmupStuck", "not ready after seven of ten minutes", starting("0+60x600"), "7m", POD),
    Case("TrellisWarmupStuck", "still young", starting("0+60x600"), "4m"),
    Case("TrellisWarmupStuck", "it may take an hour", starting("0+60x600", timeout_s=3600), "28m"),
    Case("TrellisWarmupStuck", "it may take an hour, and half of it is over", starting("0+60x60", 3600), "33m", POD),
    Case("TrellisWarmupStuck", "it came late", starting("0+60x8 480x600", served="_x8 1x600"), "30m"),
    Case("TrellisEngineStuck", "well, then not", engine("1x20 0x600"), "24m", POD),
    Case("TrellisEngineStuck", "well, then not for long", engine("1x20 0x600"), "33m", POD),
    Case("TrellisEngineStuck", "it was well long ago", engine("1x20 0x600"), "40m"),
    Case("TrellisEngineStuck", "a minute ago it was well", engine("1x20 0x600"), "22m30s"),
    Case("TrellisEngineStuck", "never well", engine("0x600"), "26m"),
    Case("TrellisEngineStuck", "a new process warms up", engine("1x20 0x600", "0x20 1200x600"), "30m"),
    Case("TrellisEngineStuck", "a process of twenty minutes", engine("1x30 0x600", "0x10 660x600"), "35m", POD),
    Case("TrellisEngineStuck", "it drains", engine("1x20 0x600", draining="0x20 1x600"), "26m"),
    Case("TrellisEngineStuck", "well", engine("1x600"), "26m"),
    Case("TrellisRestarts", "three within an hour", began("0x5 6x15 22x20 43x600"), "62m", POD),
    Case("TrellisRestarts", "two within an hour", began("0x5 6x15 22x600"), "62m"),
    Case("TrellisRestarts", "three within two hours", began("0x10 11x39 51x39 91x600"), "95m"),
    Case("TrellisRestarts", "the third was just now", began("0x10 11x10 22x10 33x600"), "33m45s", POD),
    Case(
        "TrellisRestarts", "each lives for seconds", began("0 stale _x3 5 stale _x6 12 stale _x9 22 stale"), "25m", POD
    ),
    Case(
        "TrellisRestarts",
        "a program of somebody else",
        {'process_start_time_seconds{namespace="s",pod="p"}': "0x10 600x10 1200x10 1800x600"},
        "55m",
    ),
    Case("TrellisDigestMismatch", "again and again", _mismatches("0+1x600"), "15m", MODEL),
    Case("TrellisDigestMismatch", "for seven minutes", _mismatches("0+1x600"), "8m"),
    Case("TrellisDigestMismatch", "while a rollout goes on", _mismatches("0+1x3 3x600"), "12m"),
    Case("TrellisDigestMismatch", "now and then", _mismatches(every_minute([1, 0, 0, 0] * 15)), "50m", MODEL),
    Case("TrellisMixedDigests", "for hours", digests("b"), "65m", MODEL),
    Case("TrellisMixedDigests", "for hours, of one digest", digests("a", "d"), "65m", MODEL),
    Case("TrellisMixedDigests", "one digest", digests("a"), "65m"),
    Case("TrellisMixedDigests", "a rollout", digests("b"), "45m"),
    Case("TrellisNonFiniteRows", "one row", _jump(_NOT_FINITE, 1, 30), "33m", POD),
    Case("TrellisNonFiniteRows", "eleven minutes ago", _jump(_NOT_FINITE, 1, 30), "41m", POD),
    Case("TrellisNonFiniteRows", "twenty minutes ago", _jump(_NOT_FINITE, 1, 30), "50m"),
    Case("TrellisCapturesFail", "one size, just now", _jump(_UNCAPTURED, 1, 30), "30m45s"),
    Case("TrellisCapturesFail", "one size, before", _jump(_UNCAPTURED, 1, 30), "31m30s", POD),
    Case("TrellisCapturesFail", "two sizes, hours ago", _jump(_UNCAPTURED, 2, 30), "400m", POD),
    Case("TrellisCapturesFail", "none", counted(_UNCAPTURED, "0x600"), "30m"),
    Case("TrellisCapturesFail", "the process began anew", counted(_UNCAPTURED, "1x20 0x600"), "40m"),
    Case("TrellisBatchesFail", "three", _jump(_FAILED, 3, 30), "33m", POD),
    Case("TrellisBatchesFail", "two", _jump(_FAILED, 2, 30), "33m"),
    Case("TrellisBatchesFail", "eleven minutes ago", _jump(_FAILED, 3, 30), "41m", POD),
    Case("TrellisBatchesFail", "twenty minutes ago", _jump(_FAILED, 3, 30), "50m"),
)

_OPERATOR = (
    Case("TrellisModelsBlocked", "a Secret is missing", _blocked("1x200"), "65m", f'{_OPERATORS},type="Accepted"'),
    Case("TrellisModelsBlocked", "for three quarters", _blocked("1x200"), "45m"),
    Case("TrellisModelsBlocked", "it is there", _blocked("0x200"), "130m"),
    Case("TrellisModelsBlocked", "it came", _blocked("1x40 0x200"), "130m"),
    Case(
        "TrellisModelsBlocked",
        "a token is refused",
        _blocked("2x200", kind="SourceReady"),
        "65m",
        f'{_OPERATORS},type="SourceReady"',
    ),
    Case("TrellisModelsBlocked", "engines are not there", _blocked("1x200", kind="EngineAvailable"), "130m"),
    Case("TrellisModelsBlocked", "they are well", _blocked("1x200", status="True"), "130m"),
    Case("TrellisModelsUnserved", "one for twenty minutes", {_UNSERVED: "1x600"}, "20m", _OPERATORS),
    Case("TrellisModelsUnserved", "one for ten minutes", {_UNSERVED: "1x600"}, "10m"),
    Case("TrellisModelsUnserved", "one that serves in the end", {_UNSERVED: "1x12 0x600"}, "30m"),
    Case("TrellisModelsUnserved", "none", {_UNSERVED: "0x600"}, "60m"),
    Case("TrellisOperatorAway", "nobody leads, lately", {_LEADER: "1x10 0x600"}, "14m"),
    Case("TrellisOperatorAway", "nobody leads", {_LEADER: "1x10 0x600"}, "18m", ""),
    Case("TrellisOperatorAway", "it leads", {_LEADER: "1x600"}, "30m"),
    Case("TrellisOperatorAway", "gone for 18 hours", {_LEADER: "1x10"}, "1090m", ""),
    Case("TrellisOperatorAway", "gone for two days", {_LEADER: "1x10"}, "1700m"),
    Case("TrellisOperatorAway", "nobody scrapes it", counted("up", "1x600"), "30m"),
    Case("TrellisDownloadStalled", "nothing for eight minutes", download(_PART_CAME), "28m", MODEL),
    Case("TrellisDownloadStalled", "nothing for six minutes", download(_PART_CAME), "26m"),
    Case("TrellisDownloadStalled", "a few bytes with each attempt", download("0+48000x600"), "40m", MODEL),
    Case("TrellisDownloadStalled", "slow, but it comes", download("0+90000x600"), "40m"),
    Case("TrellisDownloadStalled", "all is here", download(f"{WHOLE}x600"), "40m"),
)

CASES = (*_OBJECTIVES, *_FLOORS, *_SHARES, *_SERVICE, *_ENGINES, *_OPERATOR)

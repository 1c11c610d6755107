"""Numbers as people read them, by Grafana's names of units. Pure."""

_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_SECONDS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))


def shown(value: float, unit: str) -> str:
    """A number with its unit, in three digits.

    Raises:
        KeyError: the unit is not among those that panels use.
    """
    return {"s": _seconds, "bytes": _bytes, "percentunit": _percent, "reqps": _per_second, "short": _plain}[unit](value)


def _plain(value: float) -> str:
    return next((f"{value / size:.3g} {name}" for size, name in _STEPS if abs(value) >= size), f"{value:.3g}")


def _per_second(value: float) -> str:
    return f"{_plain(value)}/s"


def _percent(value: float) -> str:
    return f"{value * 100:.3g} %"


def _bytes(value: float) -> str:
    return next((f"{value / size:.3g} {name}" for size, name in _BYTES if abs(value) >= size), f"{value:.3g} B")


def _seconds(value: float) -> str:
    return next((f"{value / size:.3g} {name}" for size, name in _SECONDS if abs(value) >= size), f"{value:.3g} s")

"""The two HTTP listeners: health for the kubelet, metrics for Prometheus."""

from collections.abc import Callable

from aiohttp import web

from trellis_operator.cluster.metrics import Metrics
from trellis_operator.errors import OperatorError

Check = Callable[[], str | None]
"""Says what is wrong, or None."""


async def serve_health(host: str, port: int, alive: Check, ready: Check) -> web.AppRunner:
    """`/healthz` is 503 when the process had better be started again, `/readyz` when it does not work now."""
    return await _serve(host, port, {"/healthz": _answer(alive), "/readyz": _answer(ready)})


async def serve_metrics(host: str, port: int, metrics: Metrics) -> web.AppRunner:
    """`/metrics` in Prometheus' text format."""

    async def show(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return await _serve(host, port, {"/metrics": show})


def _answer(check: Check) -> Callable[[web.Request], object]:
    async def answer(_: web.Request) -> web.Response:
        wrong = check()
        return web.Response(text=f"{wrong or 'ok'}\n", status=503 if wrong else 200)

    return answer


async def _serve(host: str, port: int, routes: dict[str, Callable[[web.Request], object]]) -> web.AppRunner:
    application = web.Application()
    for path, handler in routes.items():
        application.router.add_get(path, handler)  # type: ignore[arg-type]
    runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        raise OperatorError(f"{host}:{port} cannot be listened on: {error.strerror}") from error
    return runner

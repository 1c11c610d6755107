"""The road of `local`: manifest, model, programs, and then until someone says stop. Thin: it only does.

Never decides what a program is told; see `programs` and `commands`.
"""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trellis_operator import digest
from trellis_operator.errors import LocalError, ManifestError, SourceError
from trellis_operator.local.console import Console
from trellis_operator.local.greeting import greeting
from trellis_operator.local.needs import check_needs
from trellis_operator.local.notes import notes
from trellis_operator.local.once import embed_once, first_key
from trellis_operator.local.options import LocalOptions
from trellis_operator.local.ports import claim, free_ports
from trellis_operator.local.programs import HOST, Setting, programs
from trellis_operator.local.purpose import purpose_of
from trellis_operator.local.scratch import scratch
from trellis_operator.local.supervisor import Supervisor
from trellis_operator.manifest import read_manifest
from trellis_operator.source import FetchedSource
from trellis_operator.sources.cache import model_folder
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate

_ECHO_S = 1.0
"""A signal to a whole group of processes comes once more from a parent that passes it on, as make does."""


def run_local(options: LocalOptions) -> None:
    """Run a manifest until SIGINT or SIGTERM, or until its one text is embedded.

    Raises:
        OperatorError: it cannot be run; the text says why in one line.
    """
    console = Console()
    body = read_manifest(options.manifest)
    filled = validate(body)
    model = EmbeddingModel.from_body(filled)
    _check(model, options)
    source = _source(model, options)
    port = claim(HOST, options.port)
    for line in notes(body):
        console.say(line)
    folder = source if isinstance(source, Path) else model_folder(source, options.cache, console.say)
    with scratch() as own:
        embedding_file = own / "embedding.json"
        embedding_file.write_text(json.dumps(model.embedding), encoding="utf-8")
        setting = _setting(model, options, filled["spec"], folder, embedding_file, port)
        asyncio.run(_serve(setting, model, options, console))


def _check(model: EmbeddingModel, options: LocalOptions) -> None:
    """Refuse at once what could only fail later."""
    check_needs()
    first_key(options.api_keys_file)
    if model.suspended or not model.engine.replicas:
        raise ManifestError("spec asks for no engine: suspend is true or engine.replicas is 0")
    if model.gateway.api_keys_secret and not options.api_keys_file:
        raise LocalError(
            f"gateway.apiKeysSecretRef names the Secret {model.gateway.api_keys_secret}, which only a cluster has: "
            "give the keys with --api-keys-file FILE"
        )


def _source(model: EmbeddingModel, options: LocalOptions) -> Path | FetchedSource:
    """What to serve: the folder on the command line, else what the manifest names.

    Raises:
        SourceError: only a cluster has it.
    """
    if options.model is not None:
        if not (options.model / "config.json").is_file():
            raise SourceError(f"--model {options.model}: no model there, a config.json is missing")
        return options.model.absolute()
    source = model.model.source
    if not isinstance(source, FetchedSource):
        raise SourceError(
            "spec.model.source names a volume or an image, which only a cluster mounts: "
            "on one machine, give the model's folder with --model DIR"
        )
    return source


def _setting(
    model: EmbeddingModel,
    options: LocalOptions,
    spec: Mapping[str, Any],
    folder: Path,
    embedding_file: Path,
    port: int,
) -> Setting:
    replicas = model.engine.replicas
    ports = free_ports(HOST, 2 * replicas)
    described = spec if options.model is None else digest.with_folder(spec, folder)
    return Setting(
        model_folder=str(folder),
        embedding_file=str(embedding_file),
        model_digest=digest.model_digest(described),
        api_keys_file=str(options.api_keys_file.absolute()) if options.api_keys_file else None,
        gateway_port=port,
        engine_ports=list(zip(ports[:replicas], ports[replicas:], strict=True)),
        threads=options.threads,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    )


async def _serve(setting: Setting, model: EmbeddingModel, options: LocalOptions, console: Console) -> None:
    running = programs(model, setting)
    supervisor = Supervisor(running, console.say, console.hear)
    stopped = _stop_on_signal(supervisor, console)
    console.say(f"starting {', '.join(program.name for program in running)}")
    try:
        await supervisor.start()
        if not stopped():
            await _use(supervisor, setting, model, options, console)
    finally:
        await supervisor.stop()
        console.say("stopped")


async def _use(
    supervisor: Supervisor, setting: Setting, model: EmbeddingModel, options: LocalOptions, console: Console
) -> None:
    """Embed the one text, or greet and stay."""
    name, key = model.model.served_names[0], first_key(options.api_keys_file)
    if options.once is not None:
        answer = await asyncio.to_thread(embed_once, HOST, setting.gateway_port, name, options.once, key)
        print(answer, flush=True)
        return
    await _greet(setting, name, console, needs_key=key is not None)
    await supervisor.run()


async def _greet(setting: Setting, name: str, console: Console, *, needs_key: bool) -> None:
    """Say what can be asked. An engine that does not say what for is watched by others, and stops nothing here."""
    origin = f"http://{HOST}:{setting.gateway_port}"
    try:
        purpose = await purpose_of(f"{HOST}:{setting.engine_ports[0][0]}")
    except LocalError as error:
        console.say(f"ready: {origin} serves {name}; stop with Ctrl-C. {error}")
        return
    console.say(f"ready: {origin}{purpose.value.path} serves {name}; stop with Ctrl-C. Try:")
    print("", *greeting(origin, purpose, name, needs_key=needs_key), "", sep="\n", flush=True)


def _stop_on_signal(supervisor: Supervisor, console: Console) -> Callable[[], bool]:
    """Stop orderly at the first SIGINT or SIGTERM and at once at the second; returns whether one came."""
    stops: list[asyncio.Task[None]] = []
    first_s = 0.0

    def on_signal() -> None:
        nonlocal first_s
        now = asyncio.get_running_loop().time()
        if stops and now - first_s < _ECHO_S:
            return
        if stops:
            console.say("stopping at once")
            supervisor.kill()
            return
        first_s = now
        console.say("stopping: finishing what was accepted (again to stop at once)")
        stops.append(asyncio.create_task(supervisor.stop()))

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    return lambda: bool(stops)

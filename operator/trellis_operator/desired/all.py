"""All objects of one model, as this operator would make them today, were nothing there yet."""

from collections.abc import Collection, Iterator, Mapping

from trellis_operator.desired import accounts, budgets, config_map, download, monitor, names, network, route, services
from trellis_operator.desired.child import Object
from trellis_operator.desired.engine import engine
from trellis_operator.desired.gateway import gateway
from trellis_operator.desired.scaler import scaler
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.kinds import BY_NAME, CHILDREN, HTTP_ROUTE, POD_MONITOR
from trellis_operator.spec import EmbeddingModel

_ORDER = {kind.name: place for place, kind in enumerate(CHILDREN)}


def desired(
    model: EmbeddingModel, setting: ClusterSetting, secrets: Mapping[str, str], read: Collection[str] = ()
) -> list[Object]:
    """The objects, in the order in which they are to be applied.

    Args:
        model: what is asked for.
        setting: what the cluster and the operator's flags add.
        secrets: hashes of contents by name of the Secret; one that does not exist is absent.
        read: folders of the model's volume that pods read now.
    """
    return sorted(_objects(model, setting, secrets, read), key=lambda each: _ORDER[each["kind"]])


def secret_names(model: EmbeddingModel) -> list[str]:
    """The Secrets whose contents matter: two at most."""
    named = {model.gateway.api_keys_secret, download.secret_name(model)}
    return sorted(name for name in named if name)


def _objects(
    model: EmbeddingModel, setting: ClusterSetting, secrets: Mapping[str, str], read: Collection[str]
) -> Iterator[Object]:
    yield accounts.engine_account(model)
    yield accounts.gateway_account(model)
    yield accounts.gateway_role(model)
    yield accounts.gateway_role_binding(model)
    yield from config_map.config_maps(model)
    yield services.engines_service(model)
    yield services.gateway_service(model)
    yield network.engine_policy(model, setting)
    yield budgets.engine_budget(model)
    yield budgets.gateway_budget(model)
    yield engine(model, setting)
    yield gateway(model, setting, secrets)
    yield from _when_asked(model, setting, secrets, read)


def _when_asked(
    model: EmbeddingModel, setting: ClusterSetting, secrets: Mapping[str, str], read: Collection[str]
) -> Iterator[Object]:
    if model.cache is not None and names.is_downloaded(model):
        yield download.claim(model, model.cache)
        yield download.download_job(model, setting, secrets, read)
    if model.engine.autoscaling is not None and not model.suspended:
        yield scaler(model, model.engine.autoscaling, setting)
    if _wants_monitor(model, setting):
        yield monitor.pod_monitor(model)
    if model.gateway.http_route is not None and HTTP_ROUTE.name in setting.served:
        yield route.http_route(model, model.gateway.http_route)


def _wants_monitor(model: EmbeddingModel, setting: ClusterSetting) -> bool:
    return model.pod_monitor != "disabled" and POD_MONITOR.name in setting.served


def missing_kinds(model: EmbeddingModel, setting: ClusterSetting) -> list[str]:
    """Kinds that the manifest asks for by name and that the API server does not know."""
    asked = {POD_MONITOR.name: model.pod_monitor == "enabled", HTTP_ROUTE.name: model.gateway.http_route is not None}
    return [kind for kind, wanted in asked.items() if wanted and kind not in setting.served and kind in BY_NAME]

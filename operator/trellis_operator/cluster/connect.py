"""The connection to an API server: from inside a pod, else from a kubeconfig, as kubectl finds one."""

import os
from typing import Any

import aiohttp
from kubernetes.aio import client
from kubernetes.aio import config as kube_config

from trellis_operator.errors import OperatorError

_NO_LIMIT = 0
"""Each watch holds a connection, and there is one a kind and namespace; a limit below that would leave calls none. What
bounds connections is the number of those watches and of workers.
"""


async def connect() -> client.ApiClient:
    """A client that is ready to ask.

    Raises:
        OperatorError: there is neither a service account nor a kubeconfig that can be used.
    """
    settings: Any = client.Configuration()
    settings.connection_pool_maxsize = _NO_LIMIT
    settings.retries = 0  # the caller decides what is asked again
    try:
        if "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ:
            kube_config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
        else:
            await kube_config.load_kube_config(client_configuration=settings)  # type: ignore[no-untyped-call]
    except (kube_config.ConfigException, OSError, aiohttp.ClientError) as error:
        raise OperatorError(f"no cluster to connect to: {error}; set KUBECONFIG, or run in a pod") from error
    return client.ApiClient(settings)

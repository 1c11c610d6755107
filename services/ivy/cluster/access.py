"""Which API server is asked, and with what: named by flags, or found as every pod of a cluster finds it.

Quick to import: it is read before anything else is.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from ivy.config import ApiServer
from ivy.errors import ConfigError

POD_FILES = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds the token of its ServiceAccount, and the certificate of the API server's authority."""


def api_server(
    url: str | None, ca_file: str | None, token_file: str | None, environ: Mapping[str, str] = os.environ
) -> ApiServer:
    """The API server that the flags name, else that of the cluster around this pod.

    Raises:
        ConfigError: a flag is wrong, a file cannot be read, or there is no cluster around.
    """
    if url is not None:
        found = ApiServer(_checked(url), _path(ca_file), _path(token_file))
    elif ca_file is not None or token_file is not None:
        raise ConfigError("--api-server-ca-file and --api-server-token-file need --api-server")
    else:
        found = _around(environ)
    for path in (found.ca_file, found.token_file):
        if path is not None:
            _check_readable(path)
    return found


def _around(environ: Mapping[str, str]) -> ApiServer:
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError("--engines-service: this runs in no pod of a cluster; name the API server with --api-server")
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return ApiServer(_checked(f"https://{authority}"), POD_FILES / "ca.crt", POD_FILES / "token")


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine or parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(f"--api-server: {url!r} is not http(s)://HOST:PORT")
    return url.rstrip("/")


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _check_readable(path: Path) -> None:
    try:
        path.read_bytes()
    except OSError as error:
        raise ConfigError(f"--engines-service: {path}: {error.strerror}") from None

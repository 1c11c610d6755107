"""API keys: the file, and the comparison. Keys are never logged and never shown."""

import hmac
from pathlib import Path

from ivy.errors import BadKey, ConfigError

MAX_FILE_BYTES = 1024 * 1024
_SCHEME = "bearer "


def read_keys(path: Path) -> tuple[bytes, ...]:
    """Read one key a line; empty lines and lines that begin with `#` say nothing.

    A folder is read as all of its files, as a Secret is mounted: each of its values is a file.

    Raises:
        ConfigError: the file cannot be read, has no key, or a key that no header can carry.
    """
    try:
        data = b"\n".join(each.read_bytes() for each in _files(path))
    except OSError as error:
        raise ConfigError(f"--api-keys-file: {path}: {error.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"--api-keys-file: {path}: {len(data)} bytes, at most {MAX_FILE_BYTES} are read")
    lines = enumerate((line.strip() for line in data.splitlines()), start=1)
    keys = {number: line for number, line in lines if line and not line.startswith(b"#")}
    for number, key in keys.items():
        if not key.isascii() or b" " in key:
            raise ConfigError(f"--api-keys-file: {path}: line {number} is not a key: printable ASCII without spaces")
    if not keys:
        raise ConfigError(f"--api-keys-file: {path} has no key in it; without the flag the API is open")
    return tuple(keys.values())


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))


class Keyring:
    """Lets a request in, or not. Without keys it lets all in."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self._keys = keys

    def check(self, authorization: str | None) -> None:
        """Check an `Authorization` header.

        Every key is compared whole: time tells neither how much of a key was right nor which one was.

        Raises:
            BadKey: there is no `Bearer` key, or it is none of ours.
        """
        if not self._keys:
            return
        if authorization is None or not authorization.lower().startswith(_SCHEME):
            raise BadKey("no API key: send it as 'Authorization: Bearer KEY'")
        given = authorization[len(_SCHEME) :].strip().encode("utf-8", "surrogateescape")
        if sum(hmac.compare_digest(given, key) for key in self._keys) == 0:
            raise BadKey("the API key is not one of this server's")

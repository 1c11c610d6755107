"""s3 sources against a real S3 server (versitygw), filled by a client that is not ours."""

import io
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import minio
import pytest
import requests
from trellis_operator.source import S3Source
from trellis_operator.sources.checksum import Kind
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.fetch import Surroundings
from trellis_operator.sources.patience import Deadline
from trellis_operator.sources.s3 import S3
from trellis_operator.sources.select import Part, wanted
from trellis_operator.sources.sigv4 import Credentials
from trellis_operator.sources.web import Web

TOOL = Path(__file__).parents[1] / "cluster" / "cluster"
KEY, SECRET, REGION = "trellis-key", "trellis-secret", "eu-test-1"
CREDENTIALS = Credentials(KEY, SECRET)
AROUND = Surroundings(s3_credentials=CREDENTIALS)
BUCKET = "models"
pytestmark = pytest.mark.timeout(1500)
"""The first test may have to build the server."""
Read = Callable[[Path], dict[str, bytes]]


@dataclass
class Store:
    """A running S3 server with one bucket."""

    url: str
    client: minio.Minio

    def put(self, folder: str, files: dict[str, bytes], part_bytes: int = 0) -> None:
        for path, body in files.items():
            self.client.put_object(BUCKET, f"{folder}/{path}", io.BytesIO(body), len(body), part_size=part_bytes)

    def source(self, folder: str) -> S3Source:
        return S3Source(BUCKET, folder, self.url, REGION, None)

    def reader(self, folder: str, credentials: Credentials | None = CREDENTIALS) -> S3:
        return S3(self.source(folder), credentials, Web(5, Deadline(30)))


@pytest.fixture(scope="session")
def versitygw() -> Path:
    """The server's program, built once by the cluster tool."""
    subprocess.run([TOOL, "build", "versitygw"], check=True, timeout=1200)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "trellis" / "cluster" / "bin" / "versitygw"


@pytest.fixture(scope="module")
def store(versitygw: Path, tmp_path_factory: pytest.TempPathFactory, until: Callable[..., Any]) -> Iterator[Store]:
    root = tmp_path_factory.mktemp("s3")
    (root / "data").mkdir()
    (root / "meta").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    posix = ("posix", "--sidecar", str(root / "meta"), str(root / "data"))
    server = subprocess.Popen(
        [versitygw, "--port", address, "--region", REGION, "--health", "/health", "--quiet", *posix],
        env={"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET, "PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
    )
    try:
        until(lambda: server.poll() is None and _healthy(f"http://{address}"))
        client = minio.Minio(address, KEY, SECRET, secure=False, region=REGION)
        client.make_bucket(BUCKET)
        yield Store(f"http://{address}", client)
    finally:
        server.kill()
        server.wait()


def _healthy(url: str) -> bool:
    try:
        return requests.get(f"{url}/health", timeout=5).ok
    except requests.ConnectionError:
        return False


def failure(fetch: Callable[..., Any], *arguments: Any, **more: Any) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(*arguments, **more)
    return caught.value


def test_what_a_model_needs_arrives_and_nothing_else(
    fetch: Callable[..., Any],
    store: Store,
    model_files: dict[str, bytes],
    needed: dict[str, bytes],
    tmp_path: Path,
    files_in: Read,
) -> None:
    store.put("teams/a model+1", model_files)
    run = fetch(store.source("teams/a model+1"), tmp_path / "m", surroundings=AROUND)
    assert files_in(tmp_path / "m") == needed
    assert "its size" not in run.said
    fetch(store.source("teams/a model+1"), tmp_path / "t", part=Part.TOKENIZER, surroundings=AROUND)
    assert set(files_in(tmp_path / "t")) == {path for path in needed if not path.endswith(".safetensors")}


def test_every_object_has_a_checksum_also_one_that_came_in_parts(
    fetch: Callable[..., Any], store: Store, model_files: dict[str, bytes], weights: bytes, tmp_path: Path
) -> None:
    store.put("parts", {"config.json": b"{}"})
    store.put("parts", {"model.safetensors": weights * 4}, part_bytes=5 << 20)
    kinds = {
        file.path: file.checksum and file.checksum.kind
        for file in store.reader("parts").listing(wanted(Part.ALL)).files
    }
    assert kinds == {"config.json": Kind.MD5, "model.safetensors": Kind.MD5_OF_PARTS}
    fetch(store.source("parts"), tmp_path / "m", surroundings=AROUND)
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == weights * 4


def test_a_listing_of_many_pages_is_read_to_its_end(
    fetch: Callable[..., Any], store: Store, tmp_path: Path, files_in: Read
) -> None:
    (first, last) = ({f"{n:04}.md": b"" for n in range(1050)}, {"config.json": b"{}", "model.safetensors": b"w"})
    store.put("many", first | last)
    fetch(store.source("many"), tmp_path / "m", surroundings=AROUND)
    assert files_in(tmp_path / "m") == last


def test_an_object_that_changed_after_it_was_listed_is_not_joined_to_what_is_here(
    store: Store, weights: bytes, tmp_path: Path
) -> None:
    store.put("changing", {"config.json": b"{}", "model.safetensors": weights})
    reader = store.reader("changing")
    file = next(file for file in reader.listing(wanted(Part.ALL)).files if file.size > 10)
    with reader.open(file, 1_000_000) as stream:
        assert stream.start == 1_000_000
        assert b"".join(stream.blocks) == weights[1_000_000:]
    store.put("changing", {"model.safetensors": weights[::-1]})
    with pytest.raises(FetchError) as caught, reader.open(file, 1_000_000):
        pytest.fail("the new version was opened")
    assert (caught.value.reason, caught.value.reason.temporary) == (Reason.CHANGED, True)


def test_a_new_version_of_the_folder_is_gathered_from_its_first_byte(
    fetch: Callable[..., Any], store: Store, weights: bytes, tmp_path: Path, files_in: Read
) -> None:
    store.put("again", {"config.json": b"{}", "model.safetensors": weights})
    old = store.reader("again").listing(wanted(Part.ALL)).fingerprint()
    left = tmp_path / f".m.incoming-{old}"
    left.mkdir()
    (left / "model.safetensors.partial").write_bytes(weights[:1_000_000])
    store.put("again", {"model.safetensors": weights[::-1]})
    fetch(store.source("again"), tmp_path / "m", surroundings=AROUND)
    assert files_in(tmp_path / "m")["model.safetensors"] == weights[::-1]
    assert not left.exists()


def test_a_fetch_goes_on_where_an_earlier_one_stopped(
    fetch: Callable[..., Any], store: Store, weights: bytes, tmp_path: Path, files_in: Read
) -> None:
    store.put("stopped", {"config.json": b"{}", "model.safetensors": weights})
    fingerprint = store.reader("stopped").listing(wanted(Part.ALL)).fingerprint()
    left = tmp_path / f".m.incoming-{fingerprint}"
    left.mkdir()
    (left / "model.safetensors.partial").write_bytes(weights[:1_000_000])
    run = fetch(store.source("stopped"), tmp_path / "m", surroundings=AROUND)
    assert run.progress.received_bytes == len(weights) - 1_000_000 + 2
    assert files_in(tmp_path / "m")["model.safetensors"] == weights


@pytest.mark.parametrize(
    ("changes", "credentials", "reason", "words"),
    [
        ({}, Credentials(KEY, "wrong"), Reason.UNAUTHORIZED, "SignatureDoesNotMatch, the secret key does not"),
        ({}, Credentials("nobody", SECRET), Reason.UNAUTHORIZED, "knows no such access key"),
        ({}, None, Reason.FORBIDDEN, "give an access key with secretRef"),
        ({"bucket": "none"}, CREDENTIALS, Reason.NOT_FOUND, "NoSuchBucket"),
        ({"folder": "none"}, CREDENTIALS, Reason.NOT_FOUND, "no config.json there"),
        ({"region": "elsewhere"}, CREDENTIALS, Reason.REFUSED, "is s3.region the bucket's region?"),
    ],
)
def test_what_the_server_refuses_is_told_apart(
    fetch: Callable[..., Any],
    store: Store,
    tmp_path: Path,
    changes: dict[str, str],
    credentials: Credentials | None,
    reason: Reason,
    words: str,
) -> None:
    source = replace(store.source("refused"), **changes)
    error = failure(fetch, source, tmp_path / "m", surroundings=Surroundings(s3_credentials=credentials))
    assert (error.reason, error.reason.temporary) == (reason, False)
    assert words in str(error)
    assert SECRET not in str(error)


def test_a_public_bucket_needs_no_key(fetch: Callable[..., Any], store: Store, tmp_path: Path, files_in: Read) -> None:
    files = {"config.json": b"{}", "model.safetensors": b"w"}
    store.client.make_bucket("public")
    store.client.set_bucket_policy("public", PUBLIC)
    for path, body in files.items():
        store.client.put_object("public", path, io.BytesIO(body), len(body))
    fetch(S3Source("public", "", store.url, None, None), tmp_path / "m", surroundings=Surroundings())
    assert files_in(tmp_path / "m") == files


PUBLIC = """{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
"Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::public", "arn:aws:s3:::public/*"]}]}"""


def test_the_command_reads_its_key_from_the_environment(
    command: Callable[..., Any], store: Store, tmp_path: Path, files_in: Read
) -> None:
    files = {"config.json": b"{}", "model.safetensors": b"w"}
    store.put("command", files)
    fields = {"uri": f"s3://{BUCKET}/command/", "endpoint": store.url, "region": REGION, "secretRef": {"name": "x"}}
    run = command({"s3": fields}, tmp_path / "m", AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET)
    assert run.wait() == 0, run.said
    assert files_in(tmp_path / "m") == files
    assert SECRET not in run.said

"""The pure pieces of a fetch: which files, which checksums, how long, and how it is shown."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from trellis_operator.sources.checksum import Checksum, Kind, checksum_of
from trellis_operator.sources.display import Bar
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.fetch import Surroundings
from trellis_operator.sources.listing import Listing, RemoteFile
from trellis_operator.sources.patience import Deadline, Patience, Retries
from trellis_operator.sources.progress import Progress, View, duration, size
from trellis_operator.sources.s3 import stated_checksum
from trellis_operator.sources.s3_page import Object, error_code, read_page
from trellis_operator.sources.select import MAX_SMALL_BYTES, Part, check, wanted
from trellis_operator.sources.sigv4 import Credentials, Signer


@pytest.mark.parametrize(
    "path",
    [
        "config.json",
        "tokenizer.json",
        "vocab.txt",
        "merges.txt",
        "config_sentence_transformers.json",
        "model.safetensors.index.json",
        "1_Pooling/config.json",
        "chat_template.jinja",
        "artifact.metadata",
        "sparse_linear.safetensors",
        "colbert_linear.safetensors",
    ],
)
def test_small_files_of_a_model_belong_to_every_part(path: str) -> None:
    assert wanted(Part.ALL)(path)
    assert wanted(Part.TOKENIZER)(path)


@pytest.mark.parametrize("path", ["model.safetensors", "model-00001-of-00004.safetensors", "2_Dense/model.safetensors"])
def test_weights_belong_to_the_whole_alone(path: str) -> None:
    assert wanted(Part.ALL)(path)
    assert not wanted(Part.TOKENIZER)(path)


@pytest.mark.parametrize(
    "path",
    [
        "pytorch_model.bin",
        "model.pt",
        "modeling.py",
        "README.md",
        ".gitattributes",
        "onnx/config.json",
        "adapter.safetensors",
        "1_Pooling/chat_template.jinja",
        "other.jinja",
        "model.fp16.safetensors",
        "../config.json",
        "/config.json",
        "1_Pooling/../config.json",
        "1_Pooling\\config.json",
        ".json",
        "config.json\n",
        "",
    ],
)
def test_pickles_code_and_names_that_lead_elsewhere_are_never_wanted(path: str) -> None:
    assert not wanted(Part.ALL)(path)


def test_layers_beside_a_model_are_no_model() -> None:
    files = tuple(RemoteFile(path, 10, None) for path in ("config.json", "sparse_linear.safetensors"))
    with pytest.raises(FetchError, match=r"no model\.safetensors"):
        check(Listing(revision="", files=files, left_out=()), Part.ALL, "bucket")


@given(st.text(alphabet="./\\\0 a1_P", max_size=12).map(lambda text: f"{text}.json"))
def test_a_wanted_path_stays_in_its_folder(path: str) -> None:
    if wanted(Part.ALL)(path):
        assert Path("/base", path).resolve().is_relative_to("/base")


def test_a_small_file_that_is_large_is_refused() -> None:
    files = (RemoteFile("config.json", MAX_SMALL_BYTES + 1, None), RemoteFile("model.safetensors", 1, None))
    with pytest.raises(FetchError, match=r"config.json has \d+ bytes") as caught:
        check(Listing("", files), Part.ALL, "here")
    assert caught.value.reason is Reason.TOO_LARGE


def test_a_file_of_a_negative_size_is_refused() -> None:
    with pytest.raises(FetchError, match="has -1 bytes"):
        check(Listing("", (RemoteFile("config.json", -1, None),)), Part.TOKENIZER, "here")


def test_a_listing_has_another_fingerprint_when_any_file_differs() -> None:
    file = RemoteFile("config.json", 1, Checksum(Kind.MD5, "aa"), "v1")
    changes = ({"size": 2}, {"checksum": Checksum(Kind.MD5, "ab")}, {"version": "v2"}, {"path": "other.json"})
    others = [replace(file, **change) for change in changes]
    prints = {Listing("", (each,)).fingerprint() for each in (file, *others)} | {Listing("r", (file,)).fingerprint()}
    assert len(prints) == 6


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.GIT_BLOB, "ce013625030ba8dba906f756967f9e9ca394464a"),  # `git hash-object`
        (Kind.SHA256, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"),
        (Kind.MD5, "b1946ac92492d2347c6235b4d2611184"),
        (Kind.CRC32, "363a3020"),
    ],
)
def test_checksums_are_those_that_other_programs_make(tmp_path: Path, kind: Kind, value: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"hello\n")
    assert checksum_of(path, Checksum(kind, "")) == value


@pytest.mark.parametrize("length", [0, 1, 2_000_000, 2_500_000, 5_000_000])
@pytest.mark.parametrize("part", [1_000_000, 1 << 20, 3_000_000])
def test_the_checksum_of_parts_is_taken_over_the_md5s_of_the_parts(tmp_path: Path, length: int, part: int) -> None:
    body = (bytes(range(256)) * (length // 256 + 1))[:length]
    path = tmp_path / "file"
    path.write_bytes(body)
    parts = [hashlib.md5(body[start : start + part]).digest() for start in range(0, length, part)]
    expected = f"{hashlib.md5(b''.join(parts)).hexdigest()}-{len(parts)}"
    assert checksum_of(path, Checksum(Kind.MD5_OF_PARTS, "", part)) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"ETag": '"b1946ac92492d2347c6235b4d2611184"'}, Checksum(Kind.MD5, "b1946ac92492d2347c6235b4d2611184")),
        ({"x-amz-checksum-crc32": "NjowIA=="}, Checksum(Kind.CRC32, "363a3020")),
        ({"x-amz-checksum-crc32": "NjowIA==", "x-amz-checksum-type": "COMPOSITE"}, None),
        ({"x-amz-checksum-sha256": "NjowIA==-3"}, None),
        ({"ETag": '"b1946ac92492d2347c6235b4d2611184"', "x-amz-server-side-encryption": "aws:kms"}, None),
        ({"ETag": '"b1946ac92492d2347c6235b4d2611184-2"'}, None),
        ({}, None),
    ],
)
def test_only_a_checksum_of_the_whole_object_is_taken_from_its_headers(
    headers: dict[str, str], expected: Checksum | None
) -> None:
    assert stated_checksum(headers) == expected


def test_a_page_of_s3_is_read_whatever_its_namespace() -> None:
    for namespace in ("", ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'):
        body = (
            f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult{namespace}><Contents><Key>a &amp; b</Key>'
            "<Size>7</Size><ETag>&#34;e&#34;</ETag></Contents><NextContinuationToken>t</NextContinuationToken>"
            "</ListBucketResult>"
        )
        assert read_page(body.encode()).objects == (Object("a & b", 7, '"e"'),)
        assert read_page(body.encode()).next_token == "t"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>hello</html>",
        b"\xff\xfe",
        b'<!DOCTYPE x [<!ENTITY a "aaaa">]><ListBucketResult>&a;</ListBucketResult>',
        b"<ListBucketResult><Contents><Key>k</Key><Size>many</Size></Contents></ListBucketResult>",
    ],
)
def test_what_is_no_page_of_s3_is_refused(body: bytes) -> None:
    with pytest.raises(FetchError, match="does not answer as S3 does"):
        read_page(body)


def test_an_error_code_is_a_plain_word_or_nothing() -> None:
    assert error_code(b"<Error><Code>NoSuchBucket</Code></Error>") == "NoSuchBucket"
    assert error_code(b"<Error><Code>No\nsuch</Code></Error>") == ""
    assert error_code(b"<html>") == ""


def test_a_signature_is_that_of_the_documentation() -> None:
    """GET Bucket (List Objects) of the Signature Version 4 examples of Amazon S3."""
    credentials = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    signer = Signer(credentials, "us-east-1", now=lambda: datetime(2013, 5, 24, tzinfo=UTC))
    request = requests.Request("GET", "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J").prepare()
    signature = signer(request).headers["Authorization"].rpartition("=")[2]
    assert signature == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    assert "wJalr" not in repr(signer)


@pytest.mark.parametrize(
    "environment",
    [{"HF_ENDPOINT": "file:///etc"}, {"AWS_ACCESS_KEY_ID": "a"}, {"AWS_SECRET_ACCESS_KEY": "b"}],
)
def test_surroundings_that_cannot_be_meant_are_refused(environment: dict[str, str]) -> None:
    with pytest.raises(FetchError) as caught:
        Surroundings.from_environment(environment)
    assert caught.value.reason is Reason.BAD_SOURCE


def test_secrets_have_no_repr() -> None:
    environment = {"HF_TOKEN": "sesame\n", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "sesame2"}
    around = Surroundings.from_environment(environment)
    assert around.hub_token == "sesame"
    assert "sesame" not in repr(around)


def test_pauses_double_and_an_attempt_that_brought_something_begins_anew() -> None:
    pauses: list[float] = []
    brought = 0

    def action() -> None:
        nonlocal brought
        brought += len(pauses) == 2
        raise FetchError(Reason.UNREACHABLE, "no")

    patience = Patience(deadline_s=1000, stall_s=1, attempts=3, first_pause_s=1)
    retries = Retries(
        patience, Deadline(1000), lambda error, pause_s: pauses.append(pause_s), sleep=lambda seconds: None
    )
    with pytest.raises(FetchError):
        retries.call(action, lambda: brought)
    assert pauses == [1, 2, 1, 2]


@pytest.mark.parametrize("reason", [reason for reason in Reason if not reason.passes])
def test_what_does_not_pass_is_not_tried_again(reason: Reason) -> None:
    tried = []

    def action() -> None:
        tried.append(1)
        raise FetchError(reason, "no")

    with pytest.raises(FetchError):
        Retries(Patience(9, 9), Deadline(9), lambda error, pause_s: None).call(action)
    assert len(tried) == 1


def test_sizes_and_durations_in_words() -> None:
    assert [size(count) for count in (0, 999, 1_234_567, 16_070_000_000)] == ["0 B", "999 B", "1.23 MB", "16.1 GB"]
    assert [duration(seconds) for seconds in (0.12, 59.4, 125, 7260)] == ["0.1 s", "59 s", "2 min 5 s", "2 h 1 min"]


class Shown:
    every_s = 5.0

    def __init__(self) -> None:
        self.views: list[View] = []
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def show(self, view: View) -> None:
        self.views.append(view)


def test_progress_is_shown_every_few_seconds_with_rate_and_time_left() -> None:
    now = 0.0
    shown = Shown()
    progress = Progress(shown, clock=lambda: now)
    progress.begin(1_000_000_000, present=500_000_000)
    progress.name("model.safetensors")
    for second in range(1, 11):
        now = float(second)
        progress.add(10_000_000)
    assert [str(view) for view in shown.views] == [
        "550 MB of 1 GB (55%), 10 MB/s, 45 s left: model.safetensors",
        "600 MB of 1 GB (60%), 10 MB/s, 40 s left: model.safetensors",
    ]
    assert shown.lines == ["fetching 1 GB, 500 MB of it are here from before"]


class Terminal:
    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def test_a_bar_is_written_over_and_lines_stay() -> None:
    terminal = Terminal()
    bar = Bar(terminal, lambda line: print(line, file=terminal))  # type: ignore[arg-type,call-overload]
    bar.show(View("a", 1, 2, 1.0))
    bar.say("a line")
    screen = terminal.text.split("\r\x1b[K")
    assert screen[1].startswith("[############............] 1 B of 2 B (50%), 1 B/s, 1.0 s left: a")
    assert screen[2] == "a line\n"

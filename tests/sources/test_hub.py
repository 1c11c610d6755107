"""huggingFace sources against a real HTTP server that speaks the hub's API, and misbehaves."""

from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hub_fault import Fault
from hub_server import HubServer
from trellis_operator.source import HuggingFaceSource
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.fetch import Surroundings
from trellis_operator.sources.select import Part

REPO = "test/model"
Read = Callable[[Path], dict[str, bytes]]


def manifest(source: HuggingFaceSource) -> dict[str, Any]:
    return {"huggingFace": {"repo": source.repo, "revision": source.revision}}


def failure(fetch: Callable[..., Any], *arguments: Any, **more: Any) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(*arguments, **more)
    return caught.value


def test_what_a_model_needs_arrives_and_nothing_else(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path, files_in: Read, needed: dict[str, bytes]
) -> None:
    run = fetch(hub_source, tmp_path / "m")
    assert files_in(tmp_path / "m") == needed
    assert run.fetched.revision == hub_source.revision
    assert run.fetched.total_bytes == sum(map(len, needed.values())) == run.progress.received_bytes


def test_nothing_is_left_beside_the_model(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path
) -> None:
    fetch(hub_source, tmp_path / "cache" / "m")
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [".m.lock", "m"]


def test_the_tokenizer_part_leaves_weights_out(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, files_in: Read
) -> None:
    fetch(hub_source, tmp_path / "m", part=Part.TOKENIZER)
    assert not [path for path in files_in(tmp_path / "m") if path.endswith(".safetensors")]
    assert not hub.requests_for("safetensors|/cdn/")


def test_a_model_that_is_there_is_not_asked_for_again(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    fetch(hub_source, tmp_path / "m")
    hub.asked.clear()
    assert fetch(hub_source, tmp_path / "m").fetched.revision == hub_source.revision
    assert fetch(hub_source, tmp_path / "m", part=Part.TOKENIZER).progress.received_bytes == 0
    assert not hub.asked


def test_a_folder_that_holds_another_model_or_less_of_it_is_not_touched(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path, files_in: Read
) -> None:
    fetch(hub_source, tmp_path / "m", part=Part.TOKENIZER)
    before = files_in(tmp_path / "m")
    assert failure(fetch, hub_source, tmp_path / "m").reason is Reason.OCCUPIED
    assert failure(fetch, replace(hub_source, revision="main"), tmp_path / "m").reason is Reason.OCCUPIED
    assert files_in(tmp_path / "m") == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert failure(fetch, hub_source, tmp_path / "mine").reason is Reason.OCCUPIED


def test_a_floating_revision_is_resolved_to_a_commit_once(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, files_in: Read
) -> None:
    floating = replace(hub_source, revision=None)
    assert fetch(floating, tmp_path / "m").fetched.revision == hub_source.revision
    assert all(hub_source.revision in asked.path for asked in hub.requests_for("/resolve/"))
    hub.add(REPO, {"config.json": b"{}", "model.safetensors": b"newer"})
    assert fetch(floating, tmp_path / "m").fetched.revision == hub_source.revision


def test_the_token_opens_a_gated_repository_and_is_shown_to_the_hub_alone(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, needed: dict[str, bytes]
) -> None:
    hub.gated.add(REPO)
    around = Surroundings(hub_endpoint=hub.url, hub_token=hub.token)
    run = fetch(hub_source, tmp_path / "m", surroundings=around)
    assert run.fetched.total_bytes == sum(map(len, needed.values()))
    for asked in hub.asked:
        assert ("Authorization" in asked.headers) == (asked.host == "127.0.0.1")
    assert hub.token not in run.said + repr(around)


@pytest.mark.parametrize(
    ("token", "repo", "revision", "reason", "words"),
    [
        (None, REPO, None, Reason.UNAUTHORIZED, "give a token with tokenSecretRef"),
        ("hf_wrong", REPO, None, Reason.UNAUTHORIZED, "the token is wrong"),
        (None, "test/none", None, Reason.UNAUTHORIZED, "there is none of that name"),
        ("hf_sesame", "test/none", None, Reason.NOT_FOUND, "no such repository"),
        ("hf_sesame", REPO, "0" * 40, Reason.NOT_FOUND, "no revision 0000"),
    ],
)
def test_what_a_hub_refuses_is_told_apart(
    fetch: Callable[..., Any],
    hub: HubServer,
    tmp_path: Path,
    token: str | None,
    repo: str,
    revision: str | None,
    reason: Reason,
    words: str,
) -> None:
    hub.gated.add(REPO)
    around = Surroundings(hub_endpoint=hub.url, hub_token=token)
    error = failure(fetch, HuggingFaceSource(repo, revision, None), tmp_path / "m", surroundings=around)
    assert (error.reason, error.reason.temporary) == (reason, False)
    assert words in str(error)
    assert len(str(error).splitlines()) == 1
    assert len(hub.asked) == 1
    assert not (tmp_path / "m").exists()


def test_forbidden_names_the_page_to_ask_on(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/api/", status=403))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert error.reason is Reason.FORBIDDEN
    assert "ask for access" in str(error)


@pytest.mark.parametrize("path", ["/api/", "/resolve/.*/vocab", "/cdn/"])
def test_a_busy_hub_is_asked_again_when_it_said(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, path: str
) -> None:
    hub.faults.append(Fault(path, status=429, headers={"Retry-After": "1"}))
    run = fetch(hub_source, tmp_path / "m")
    assert "429 Too Many Requests; trying again in 1.0 s" in run.said
    sample = run.metrics.registry.get_sample_value("trellis_fetch_failed_attempts_total", {"reason": "RateLimited"})
    assert sample == 1


def test_a_wait_that_the_deadline_does_not_allow_is_not_begun(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/api/", status=429, headers={"Retry-After": formatdate(2_000_000_000 * 2, usegmt=True)}))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, error.reason.temporary) == (Reason.RATE_LIMITED, True)
    assert len(hub.asked) == 1


def test_a_broken_hub_is_asked_a_few_times(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/api/", times=99, status=502))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, error.reason.temporary) == (Reason.SERVER_ERROR, True)
    assert len(hub.asked) == 3

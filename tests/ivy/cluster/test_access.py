"""Which API server is asked: by flags, or as a pod finds it."""

import pytest
from ivy.cluster import access
from ivy.cluster.access import api_server
from ivy.config import ApiServer, ServiceName
from ivy.errors import ConfigError

AROUND = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def pod_files(tmp_path, monkeypatch):
    for name in ("ca.crt", "token"):
        (tmp_path / name).write_text("x")
    monkeypatch.setattr(access, "POD_FILES", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("host", "url"), [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pod_finds_the_server_of_its_cluster(pod_files, host, url):
    found = api_server(None, None, None, AROUND | {"KUBERNETES_SERVICE_HOST": host})
    assert found == ApiServer(url, pod_files / "ca.crt", pod_files / "token")


def test_flags_stand_above_the_cluster_around_and_send_no_token_that_was_not_named(pod_files):
    assert api_server("http://127.0.0.1:8001/", None, None, AROUND) == ApiServer("http://127.0.0.1:8001")


@pytest.mark.parametrize(
    ("url", "ca", "token", "environ", "said"),
    [
        (None, None, None, {}, "runs in no pod"),
        (None, "ca", None, AROUND, "need --api-server"),
        (None, None, "token", AROUND, "need --api-server"),
        ("10.0.0.1:6443", None, None, {}, "is not http"),
        ("ftp://10.0.0.1", None, None, {}, "is not http"),
        ("https://10.0.0.1:99999", None, None, {}, "is not http"),
        ("https://user:secret@10.0.0.1", None, None, {}, "is not http"),
        ("https://10.0.0.1", "no/such/file", None, {}, "no/such/file: No such file"),
        ("https://10.0.0.1", None, "no/such/file", {}, "no/such/file: No such file"),
    ],
)
def test_what_cannot_work_is_said_at_the_start(url, ca, token, environ, said):
    with pytest.raises(ConfigError, match=said):
        api_server(url, ca, token, environ)


def test_a_pod_without_a_token_says_which_file_it_misses(pod_files):
    (pod_files / "token").unlink()
    with pytest.raises(ConfigError, match="token: No such file"):
        api_server(None, None, None, AROUND)


@pytest.mark.parametrize("text", ["", "a", "/a", "a/", "a/b/c", "A/b", "a/b,c", "a/-b", f"a/{'b' * 64}"])
def test_a_service_is_named_by_its_namespace_and_its_name(text):
    with pytest.raises(ConfigError, match="is not NAMESPACE/NAME"):
        ServiceName.parse(text, "--engines-service")
    assert ServiceName.parse(f"a/{'b' * 63}", "--engines-service").namespace == "a"

"""Configuration: precedence, validation and errors that name the variable."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from docs.generate import GROUPS, settings_by_group
from semblance.service.settings import Settings, read_settings


def test_the_command_line_takes_precedence_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_PORT", "9000")
    monkeypatch.setenv("SEMBLANCE_MAX_K", "7")
    settings = read_settings(port=9001, host=None)
    assert (settings.port, settings.max_k, settings.host) == (9001, 7, "127.0.0.1")


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("PORT", ["many"]),
        ("CACHE", ["disk"]),
        ("MAX_K", ["0"]),
        ("KEEP_ALIVE_S", ["0", "-1"]),
        ("HOST", ["unix:/run/semblance.sock", "unix:relative", "/run/semblance.sock", "http://127.0.0.1"]),
        (
            "CORS_ORIGINS",
            ["*", "https://a.example/", "a.example", "https://a.example/x", "null", "https://A.example", "ftp://a"],
        ),
        ("TRUSTED_PROXIES", ["*", "proxy.example.org", "10.0.0.1/8", "10.0.0.0:80"]),
        ("ALLOWED_HOSTS", ["a.example:8000", "https://a.example", "[::1]", "a.example/x", "*.a.example"]),
    ],
)
def test_an_error_names_the_variable(monkeypatch: pytest.MonkeyPatch, key: str, values: list[str]) -> None:
    valid = {"CORS_ORIGINS": "https://fine.example,", "TRUSTED_PROXIES": "10.0.0.7, 10.0.0.0/8,", "ALLOWED_HOSTS": "a,"}
    for value in values:
        monkeypatch.setenv(f"SEMBLANCE_{key}", valid.get(key, "") + value)
        with pytest.raises(SystemExit, match=f"SEMBLANCE_{key}"):
            read_settings()


def test_an_empty_value_is_refused_unless_it_is_a_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATABASE_URL", "HOME", "API_KEYS", "API_KEYS_FILE", "EXPORTS", "INDEX_URL", "MODELS", "REDIS_URL"):
        with monkeypatch.context() as patched:
            patched.setenv(f"SEMBLANCE_{name}", " ")
            with pytest.raises(SystemExit, match=f"SEMBLANCE_{name} must not be empty: fill it in, or remove the line"):
                read_settings()
    for name in ("CORS_ORIGINS", "ALLOWED_HOSTS", "TRUSTED_PROXIES", "RERANK_MODELS", "MODEL_ALIASES", "CLIENT_KEY"):
        monkeypatch.setenv(f"SEMBLANCE_{name}", "")
    monkeypatch.setenv("SEMBLANCE_HOME", "relative")
    monkeypatch.chdir(tmp_path)
    assert read_settings().database_file == tmp_path / "relative" / "documents.sqlite"


def test_a_socket_as_host_is_told_the_remedy() -> None:
    with pytest.raises(SystemExit, match=r"SEMBLANCE_HOST: .*no Unix socket; let a proxy, such as nginx, listen there"):
        read_settings(host="unix:/run/semblance.sock")
    for host in ("127.0.0.1", "::1", "localhost"):
        assert read_settings(host=host).host == host


def test_the_redis_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_REDIS_URL", "rediss://user:hunter2@cache:6379/1")
    settings = read_settings()
    assert settings.redis_url.get_secret_value() == "rediss://user:hunter2@cache:6379/1"
    assert "hunter2" not in f"{settings!r} {settings} {settings.model_dump_json()}"


@pytest.mark.parametrize("url", ["http://:hunter2@cache", "hunter2", "redis://:hunter2/x@cache:6379/0"])
def test_the_error_about_a_redis_url_omits_its_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("SEMBLANCE_REDIS_URL", url)
    with pytest.raises(SystemExit, match=r"SEMBLANCE_REDIS_URL: .* must look like redis://") as refused:
        read_settings()
    assert "hunter2" not in f"{refused.value} {refused.value.__cause__}"


@pytest.mark.parametrize("name", ["DATABASE", "REDIS"])
@pytest.mark.parametrize("password", ["hunter2@hunter3", "1/hunter2", "1?hunter2", "1#hunter2", "@hunter2"])
def test_a_password_that_is_not_encoded_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, password: str) -> None:
    scheme = {"DATABASE": "postgresql", "REDIS": "redis"}[name]
    monkeypatch.setenv(f"SEMBLANCE_{name}_URL", f"{scheme}://me:{password}@127.0.0.1/0")
    with pytest.raises(SystemExit, match=f"SEMBLANCE_{name}_URL: .*(%40|must look)") as refused:
        read_settings()
    assert "hunter" not in f"{refused.value} {refused.value.__cause__}"
    monkeypatch.setenv(f"SEMBLANCE_{name}_URL", f"{scheme}://me:a%40b@127.0.0.1/0")
    read_settings()


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("invalid", "message", "valid"),
    [
        (
            "idle_check_s=5 ready_within_s=5",
            "IDLE_CHECK_S must be less than",
            "idle_check_s=4.9 ready_within_s=5",
        ),
        (
            "max_request_tokens=11 max_queued_tokens=10",
            "MAX_REQUEST_TOKENS must not exceed SEMBLANCE_MAX_QUEUED_TOKENS",
            "max_request_tokens=10 max_queued_tokens=10",
        ),
        ("max_texts=10001", "MAX_TEXTS: .* less than or equal to 10000", "max_texts=10000"),
        ("max_documents=10001", "MAX_DOCUMENTS: .* less than or equal to 10000", "max_documents=10000"),
    ],
)
def test_inconsistent_settings_are_refused_by_name(invalid: str, message: str, valid: str) -> None:
    def read(line: str) -> None:
        read_settings(**{name: float(value) for name, _, value in (each.partition("=") for each in line.split())})

    with pytest.raises(SystemExit, match=f"SEMBLANCE_{message}"):
        read(invalid)
    read(valid)


@pytest.mark.parametrize(
    ("drain_s", "drain_notice_s", "notice_s"), [(20, 1.0, 1.0), (1, 1.0, 0.5), (5, 5.0, 2.5), (5, 0.0, 0.0)]
)
def test_the_drain_notice_takes_at_most_half_of_the_drain(
    drain_s: float, drain_notice_s: float, notice_s: float
) -> None:
    assert read_settings(drain_s=drain_s, drain_notice_s=drain_notice_s).notice_s == notice_s


def test_only_a_public_address_needs_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    public = ("0.0.0.0", "::", "192.168.1.5", "example.org")
    for host in public:
        with pytest.raises(SystemExit, match=f"SEMBLANCE_HOST={host} would give .*SEMBLANCE_ALLOW_ANONYMOUS"):
            read_settings(host=host)
        assert read_settings(host=host, api_keys="a:read:" + 64 * "0").host == host
    for host in ("127.0.0.1", "127.0.0.9", "::1", "localhost"):
        assert read_settings(host=host).host == host
    monkeypatch.setenv("SEMBLANCE_ALLOW_ANONYMOUS", "1")
    assert [read_settings(host=host).host for host in public] == list(public)


def test_origins_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_CORS_ORIGINS", "https://a.example, http://localhost:3000,http://[::1]:5173,")
    assert read_settings().origins == ("https://a.example", "http://localhost:3000", "http://[::1]:5173")


def test_only_loopback_without_keys_limits_hosts_by_default() -> None:
    assert read_settings().hosts == read_settings(host="::1").hosts == ()
    assert read_settings(host="0.0.0.0", allow_anonymous=True).hosts == ("*",)
    assert read_settings(api_keys="a:read:" + 64 * "0").hosts == ("*",)
    assert read_settings(allowed_hosts="Search.example, fe80::1").hosts == ("search.example", "fe80::1")


def test_every_setting_is_in_one_group() -> None:
    groups = settings_by_group()
    assert list(groups) == list(GROUPS.values())
    assert [name for names in groups.values() for name in names] == list(Settings.model_fields)

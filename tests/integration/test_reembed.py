"""Re-embedding of a collection of a running service from one built-in model to the other."""

from __future__ import annotations

import importlib
import itertools
import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from semblance_client import Client, Retries

from tests.integration.conftest import Api, code_of, served
from tests.support.command_line import semblance
from tests.support.held_command import held
from tests.support.running_service import SEMBLANCE, Service
from tests.support.servers.word_models import sentence, write_model

OLD, NEW = "minilm-clrcmd", "minilm-graded"
FORMER, NEXT = "former", "next"  # word vectors, which cost nothing
SAMPLE = [json.loads(line) for line in Path("service/sample/help_centre.jsonl").read_text("utf-8").splitlines()]
TEXTS = {row["id"]: row["text"] for row in SAMPLE[:30]}
MANY = {str(i): sentence(random.Random(i)) for i in range(520)}  # documents of three steps
QUERIES = ["my parcel never came", "How do I change my password?", sentence(random.Random(1000))]


def word_models(folder: Path) -> str:
    """FORMER and NEXT as a setting."""
    return ",".join(f"{name}={write_model(folder / f'{name}.npz', seed)}" for seed, name in enumerate((FORMER, NEXT)))


def documents(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"id": doc_id, "text": text} for doc_id, text in texts.items()]


def scores(api: Api, name: str, **more: Any) -> list[dict[str, float]]:
    found = api.ok("/search", {"queries": QUERIES, "collection": name, "k": 50, **more})
    return [by_id(each) for each in found["results"]]


def by_id(result: Any) -> dict[str, float]:
    return {hit["id"]: hit["score"] for hit in result["hits"]}


def assert_scores_as_fresh(api: Api, name: str, measures: tuple[str, ...], **settings: object) -> None:
    """Assert that it scores as a collection filled by its present model from the start."""
    model = api.get(f"/collections/{name}")["model"]
    listed = api.get(f"/collections/{name}/documents", limit=1000)["documents"]
    api.collection("fresh", model=model, **settings)
    api.store("fresh", *documents({each["id"]: each["text"] for each in listed}))
    for measure in measures:
        for found, expected in zip(*(scores(api, each, measure=measure) for each in (name, "fresh")), strict=True):
            assert found == pytest.approx(expected, abs=1e-5)


def test_a_collection_rolls_over_during_searches_and_writes(api: Api, http: httpx2.Client) -> None:
    api.collection("moving", model=OLD, tokens="int8")
    api.store("moving", *documents(TEXTS))
    address, query = "/collections/moving/reembedding", {"query": QUERIES[0], "collection": "moving"}
    for step in ("step", "switch"):
        assert code_of(http.post(f"{address}/{step}")) == (409, "no_reembedding")
    assert code_of(http.put(address, json={"model": "nosuch"})) == (404, "unknown_model")
    assert code_of(http.put(address, json={})) == (422, "invalid_request")
    assert http.put(address, json={"model": OLD}).json()["reembedding"] is None
    former, before = api.ok("/search", query), scores(api, "moving")
    begun = http.put(address, json={"model": NEW}).json()
    assert (begun["model"], begun["reembedding"]["model"], begun["reembedding"]["documents_left"]) == (OLD, NEW, 30)
    assert http.put(address, json={"model": NEW}).json() == begun
    assert code_of(http.put(address, json={"model": OLD})) == (409, "reembedding_differs")
    assert code_of(http.post(f"{address}/switch")) == (409, "reembedding_unfinished")
    assert scores(api, "moving") == before

    api.store("moving", {"id": "more", "text": "My parcel never came, and now?"})
    http.delete(f"/collections/moving/documents/{SAMPLE[0]['id']}")
    assert api.get("/collections/moving")["reembedding"]["documents_left"] == 29
    done = http.post(f"{address}/step").json()
    assert (done["embedded"], done["left"]) == (29, 0)
    during = api.ok("/search", query | {"min_version": done["version"]})
    assert (during["model"], during["space"]) == (OLD, former["space"])

    switched = http.post(f"{address}/switch").json()["version"]
    after, shown = api.ok("/search", query | {"min_version": switched}), api.get("/collections/moving")
    assert (after["model"], after["space"], after["version"]) == (NEW, shown["space"], switched)
    assert after["space"] != former["space"]
    assert (shown["model"], shown["reembedding"], shown["count"]) == (NEW, None, 30)
    assert scores(api, "moving", min_version=done["version"]) == scores(api, "moving")
    assert_scores_as_fresh(api, "moving", ("cosine", "rcmd"), tokens="int8")


def test_the_command_drops_an_unfinished_reembedding(api: Api, http: httpx2.Client, url: str) -> None:
    api.collection("dropped", model=OLD)
    api.store("dropped", {"id": "a", "text": "A text."})
    http.put("/collections/dropped/reembedding", json={"model": NEW})
    ran = semblance("index", "reembed", "dropped", "--drop", "--url", url)
    assert (ran.returncode, "unfinished work was discarded" in ran.stderr) == (0, True), ran.stderr
    assert api.get("/collections/dropped")["reembedding"] is None
    assert http.delete("/collections/dropped/reembedding").status_code == 204, "nothing to drop"
    for options, code, said in (((), 2, "--model"), (("--model", "nosuch"), 1, "no model 'nosuch' is served")):
        ran = semblance("index", "reembed", "dropped", *options, "--url", url)
        assert (ran.returncode, said in ran.stderr) == (code, True)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Service]:
    """A separate service, whose collection "c" of the former model needs three steps to re-embed."""
    service = Service(tmp_path, models=word_models(tmp_path))
    with httpx2.Client(base_url=service.start(), timeout=120) as http:
        Api(http).collection("c", model=FORMER)
        Api(http).store("c", *documents(MANY))
    yield service
    service.kill()


def start_after_failures(service: Service) -> None:
    """Start the service after a client has failed four times, which is the most of other commands."""
    address = urlsplit(service.url)
    with socket.create_server((str(address.hostname), int(address.port or 0))) as listening:
        for _ in range(4):
            listening.accept()[0].close()
    service.start()


def test_the_command_resumes_after_it_or_the_service_was_killed(
    filled: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("index", "reembed", "c", "--model", NEXT, "--url", filled.url)
    with (
        httpx2.Client(base_url=filled.url, timeout=120) as http,
        held("semblance_client:Client.send", *command, calls=3) as first,  # after the beginning and a step
    ):
        first.process.kill()
        first.process.wait()
        shown = http.get("/collections/c").json()
        assert (shown["model"], shown["reembedding"]["documents_left"]) == (FORMER, len(MANY) - 256)

    send, calls = Client.send, itertools.count(1)
    restart = threading.Thread(target=start_after_failures, args=(filled,))

    def sending(*call: Any) -> Any:
        if next(calls) == 3:
            filled.kill()
            restart.start()
        return send(*call)

    monkeypatch.setattr(Client, "send", sending)
    patience = Retries(attempts=sys.maxsize, total_s=600)  # a slow machine takes more than the minute of the command
    monkeypatch.setattr(importlib.import_module("semblance.service.cli.index.reembed"), "PATIENCE", patience)
    second = semblance(*command)
    restart.join()
    assert (second.returncode, f"c now uses {NEXT}" in second.stderr) == (0, True), second.stderr
    with httpx2.Client(base_url=filled.url, timeout=120) as http:
        api = Api(http)
        after = scores(api, "c")
        assert http.get("/collections/c").json()["model"] == NEXT
        assert_scores_as_fresh(api, "c", ("cosine",))
        filled.stop()
        filled.start()
        assert scores(api, "c") == after
    third = semblance(*command)
    assert (third.returncode, "nothing to do" in third.stderr) == (0, True), third.stderr


@pytest.fixture
def replicas(postgres: str, tmp_path: Path) -> Iterator[list[Api]]:
    """Two replicas of one database."""
    settings = {"database_url": postgres, "database_timeout_s": "60", "min_version_wait_s": "60"}
    models = word_models(tmp_path)
    with served(None, models=models, **settings) as (_, here), served(None, models=models, **settings) as (_, there):
        yield [here, there]


def test_a_replica_answers_correctly_by_one_model_or_the_other(replicas: list[Api]) -> None:
    """One replica is searched continuously while the other re-embeds."""
    here, there = replicas
    here.collection("c", model=FORMER)
    query = {"query": QUERIES[2], "k": 50}
    texts = dict(itertools.islice(MANY.items(), 30))
    of_c = query | {"collection": "c", "min_version": here.store("c", *documents(texts))["version"]}
    answers: list[Any] = [there.ok("/search", of_c)]
    command = [sys.executable, "-m", SEMBLANCE, "index", "reembed", "c", "--model", NEXT]
    with subprocess.Popen([*command, "--url", str(here.http.base_url)], stderr=subprocess.DEVNULL) as reembedding:
        while reembedding.poll() is None or answers[-1]["model"] == FORMER:
            answers.append(there.ok("/search", of_c))
    assert reembedding.returncode == 0
    here.collection("fresh", model=NEXT)
    here.store("fresh", *documents(texts))
    expected = {
        FORMER: by_id(answers[0]["results"][0]),
        NEXT: by_id(here.ok("/search", query | {"collection": "fresh"})["results"][0]),
    }
    models = [answer["model"] for answer in answers]
    assert models == sorted(models, key=[FORMER, NEXT].index), "no later result is by the former model"
    assert set(models) == {FORMER, NEXT}
    for answer in answers:
        assert by_id(answer["results"][0]) == pytest.approx(expected[answer["model"]], abs=1e-5)

"""After a change of the default model, existing collections keep the model that filled them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2

from tests.integration.conftest import Api
from tests.support.running_service import running_process

PARCEL = "my parcel never came"
QUERIES = {"queries": [PARCEL, "How do I change my password?"], "k": 5}


def test_collections_of_a_former_default_model_are_still_served(tmp_path: Path) -> None:
    model = "minilm-clrcmd"
    with running_process(home=tmp_path, models=f"{model},minilm", sample="1") as service, client(service.url) as http:
        before = Api(http).ok("/search", QUERIES)["results"]
    with running_process(home=tmp_path, sample="1") as service, client(service.url) as http:
        api = Api(http)
        log = service.log.read_text("utf-8")
        assert "collections with another model than the default, minilm-words: default; `semblance index reembed" in log
        assert http.get("/collections/default").json()["model"] == model
        assert {name for name, is_loaded in loaded(http).items() if is_loaded} == {"minilm-words"}
        assert api.ok("/search", QUERIES)["results"] == before
        assert {name for name, is_loaded in loaded(http).items() if is_loaded} == {"minilm-words", model}
        api.store("default", {"id": "more", "text": "My parcel never came, and now?"})
        hit = api.ok("/search", QUERIES | {"k": 1})["results"][0]["hits"][0]
        pair = {"a": PARCEL, "b": "My parcel never came, and now?"}
        [score] = api.ok("/similarity", {"pairs": [pair], "model": model})["scores"]
        assert (hit["id"], round(hit["score"], 5)) == ("more", round(score, 5))
        api.collection("made-now")
        assert http.get("/collections/made-now").json()["model"] == "minilm-words"


def client(url: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, timeout=120)


def loaded(http: httpx2.Client) -> dict[str, Any]:
    return {model["name"]: model["loaded"] for model in http.get("/models").json()["models"]}

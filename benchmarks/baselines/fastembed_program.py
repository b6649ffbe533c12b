"""Serve a model by fastembed through OpenAI's embeddings API; runs in fastembed's environment.

python fastembed_program.py FOLDER PORT

fastembed is a library without a server. This one is minimal: a request is one call of `embed`, in one of the threads
of the framework, and orjson writes the vectors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import orjson
import uvicorn
from fastapi import FastAPI, Response
from fastembed import TextEmbedding  # type: ignore[import-not-found]
from fastembed.common.model_description import ModelSource, PoolingType  # type: ignore[import-not-found]
from pydantic import BaseModel

NAME = "local"


class Texts(BaseModel):
    """A request."""

    model: str
    input: list[str]


def main() -> None:
    """Serve the folder with `model.onnx`, pooled by the mean and normalized, with the default number of threads."""
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    config = json.loads((folder / "config.json").read_text("utf-8"))
    source, size = ModelSource(hf=NAME), config["hidden_size"]
    TextEmbedding.add_custom_model(NAME, PoolingType.MEAN, True, source, size, "model.onnx")
    model = TextEmbedding(NAME, specific_model_path=str(folder))
    model.model.tokenizer.enable_truncation(config["max_position_embeddings"])  # it would cut texts at 128 tokens
    app = FastAPI()

    @app.post("/v1/embeddings")
    def embeddings(texts: Texts) -> Response:
        data = [{"index": row, "embedding": vector} for row, vector in enumerate(model.embed(texts.input))]
        return Response(orjson.dumps({"data": data}, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")

    uvicorn.run(app, port=port, log_level="warning")


if __name__ == "__main__":
    main()

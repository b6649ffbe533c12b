"""Serve documents with existing vectors by txtai; runs in txtai's environment.

python txtai_program.py FOLDER PORT
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from txtai import Embeddings  # type: ignore[import-not-found]

CONFIG = """
path: {folder}/index
writable: false
embeddings:
    method: external
    transform: txtai_program.lookup
    content: true
"""


def lookup(texts: list[str]) -> Any:
    """The existing vectors of texts."""
    vectors, rows = _vectors()
    return vectors[[rows[text] for text in texts]]


@cache
def _vectors() -> tuple[Any, dict[str, int]]:
    folder = Path(os.environ["INPUT_FOLDER"])
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    rows = {text: row for row, text in enumerate(texts["documents"] + texts["queries"])}
    return np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False), rows


def main() -> None:
    """Index the documents, then serve; prints the URL when the server is ready."""
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    os.environ.update(INPUT_FOLDER=str(folder), CONFIG=str(folder / "config.yml"), ALLOW_RESOLVE_TRANSFORM="True")
    (folder / "config.yml").write_text(CONFIG.format(folder=folder), "utf-8")
    documents = json.loads((folder / "texts.json").read_text("utf-8"))["documents"]
    embeddings = Embeddings(method="external", transform="txtai_program.lookup", content=True)
    embeddings.index((str(i), text, None) for i, text in enumerate(documents))
    embeddings.save(str(folder / "index"))
    embeddings.close()
    threading.Thread(target=_print_url_when_ready, args=(port,), daemon=True).start()
    uvicorn.run("txtai.api:app", port=port, log_level="warning")


def _print_url_when_ready(port: int) -> None:
    while True:
        connection = HTTPConnection("127.0.0.1", port)
        try:
            connection.request("GET", "/count")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.1)
        else:
            print(f"http://127.0.0.1:{port}", flush=True)
            return
        finally:
            connection.close()


if __name__ == "__main__":
    main()

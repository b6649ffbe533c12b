"""A caller that asks for far more than others."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import httpx2

from tests.soak.fault_injection.fault import FaultContext, Violation
from tests.support.servers.word_models import WORDS
from tests.support.waiting import CEILING_S

CONNECTIONS = 8
TEXTS, WORDS_EACH = 40, 200  # of one request
ALLOWED = (HTTPStatus.OK, HTTPStatus.TOO_MANY_REQUESTS)


def flood(context: FaultContext) -> None:
    """Send large requests over several connections at once, one after the other."""
    lasting = context.lasting()
    seeds = [context.rng.getrandbits(32) for _ in range(CONNECTIONS)]

    def send(seed: int) -> None:
        rng = random.Random(seed)
        with httpx2.Client(base_url=context.deployment.url, timeout=CEILING_S) as http:
            while lasting():
                texts = [" ".join(rng.choices(WORDS, k=WORDS_EACH)) for _ in range(TEXTS)]
                model = rng.choice([*context.deployment.models])
                answer = http.post("/v1/embeddings", json={"model": model, "input": texts})
                if answer.status_code not in ALLOWED:
                    raise Violation(f"a large request got {answer.status_code}: {answer.text[:300]}")

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(send, seeds))

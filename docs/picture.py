"""Draw the explanation in the README, by the default model."""

from __future__ import annotations

from pathlib import Path

from semblance.models.catalogue import similarity
from semblance.models.explanation import ReadText, tokens_of
from semblance.models.protocols import Explainable
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.png import render_png

MODEL = "minilm-graded"
A = "The kitten plays with a ball of wool."
B = "A young cat is having fun with yarn."

if __name__ == "__main__":
    encoder = read_source(MODEL).load(MODEL, Compute())
    left, right = encoder.encode(encoder.tokenize([A, B], "query", "END"), "tokens")
    measure = similarity("rcmd_words")
    assert isinstance(measure, Explainable)
    a, b = (ReadText.of(tokens_of(each)) for each in (left, right))
    caption = Caption("rcmd_words", MODEL, a, b, "word", measure.bounds[1])
    picture = render_png(measure.explain(left, right).by_word(), caption)
    (Path(__file__).parent / "images" / "explanation.png").write_bytes(picture)

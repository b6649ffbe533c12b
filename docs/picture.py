"""Draw the explanations in the README and in docs/same.md, by the default model.

python -m docs.picture
"""

from __future__ import annotations

from pathlib import Path

from semblance.models.catalogue import similarity
from semblance.models.explanation import ReadText, tokens_of
from semblance.models.protocols import Encoder, Explainable
from semblance.models.runtime import Compute
from semblance.service.model_loading.classifiers import served_classifiers
from semblance.service.model_loading.registry import read_source
from semblance.service.model_loading.typical_scores import typical_of
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.png import render_png
from semblance.service.usecases.paraphrases.verdicts import judge_of

MODEL = "minilm-graded"
IMAGES = Path(__file__).parent / "images"


def draw(encoder: Encoder, name: str, a: str, b: str, *, judged: bool) -> None:
    """Draw the explanation of two texts, with the verdict if `judged`."""
    left, right = encoder.encode(encoder.tokenize([a, b], "query", "END"), "tokens")
    measure = similarity("rcmd_words")
    assert isinstance(measure, Explainable)
    judge = judge_of(served_classifiers(IMAGES), encoder) if judged else None
    read = [ReadText.of(tokens_of(each)) for each in (left, right)]
    caption = Caption(
        "rcmd_words",
        MODEL,
        *read,
        "word",
        measure.bounds[1],
        same=judge and judge(left, right),
        typical=typical_of(encoder.space, "rcmd_words"),
    )
    (IMAGES / name).write_bytes(render_png(measure.explain(left, right).by_word(), caption))


if __name__ == "__main__":
    loaded = read_source(MODEL).load(MODEL, Compute())
    kittens = "The kitten plays with a ball of wool.", "A young cat is having fun with yarn."
    draw(loaded, "explanation.png", *kittens, judged=False)
    refunds = "Refunds take 5 days for members.", "Members get refunds in 7 days."
    draw(loaded, "same.png", *refunds, judged=True)

"""Caption of a picture or page: names, the two texts, and the score in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from semblance_client.vocabulary.models import ScoreRanges
from semblance_client.vocabulary.same import Verdict

from semblance.models.explanation import Explanation, ReadText
from semblance.service.rendering.labels import SCORE_DECIMALS, label, plain, signed

_MAX_NAME_EM = 36.0
_TITLE_DECIMALS = 2


@dataclass(frozen=True, slots=True)
class Probable:
    """Statement of a calibration.

    Attributes:
        probability: that people call the pair the same.
        likely_from: the score from which they do more often than not; None if no score is that high.
        data: name of the pairs by which it was fitted.
    """

    probability: float
    likely_from: float | None
    data: str


@dataclass(frozen=True, slots=True)
class Caption:
    """Names for the title, and the two texts.

    Attributes:
        measure, model: served names.
        a, b: the two texts as sent, with the parts that the model read; units refer to their characters.
        granularity: singular noun for a unit: "token" or "word".
        best: the largest possible score; infinite if there is none. The score is minus a distance if it is 0.
        document: id of the document that is text b, if it is one.
        warnings: messages to show with the score.
        probable: what people would call the pair; None if unknown.
        same: the verdict on the texts; None without one.
        typical: scores of this measure and model; None if they are not known.
    """

    measure: str
    model: str
    a: ReadText
    b: ReadText
    granularity: str
    best: float = math.inf
    document: str | None = None
    warnings: tuple[str, ...] = ()
    probable: Probable | None = None
    same: Verdict | None = None
    typical: ScoreRanges | None = None

    @property
    def distance(self) -> bool:
        """Whether the score is minus a distance, so that 0 is the best possible."""
        return self.best == 0

    @property
    def names(self) -> tuple[str, str]:
        """Names of both texts."""
        return "Text a", f"Text b: document {label(self.document, _MAX_NAME_EM)}" if self.document else "Text b"

    def closeness(self, similarity: float) -> str:
        """The similarity of two units in words; for a distance, which is minus that, the distance."""
        return f"distance {plain(-similarity, 2)}" if self.distance else f"similarity {plain(similarity, 2)}"

    @property
    def cuts(self) -> tuple[str, ...]:
        """The part of each long text that is shown."""
        return cut_notes({"Text a": self.a, "Text b": self.b})


def headline(explanation: Explanation, caption: Caption) -> str:
    """One line: how the score splits into words, rest and special tokens.

    Special tokens are named only if they change the printed number.
    """
    score = plain(explanation.score, _TITLE_DECIMALS)
    words = plain(float(explanation.contribution.sum()) + explanation.omitted, _TITLE_DECIMALS)
    matching = f"{caption.granularity.capitalize()} matches"
    best = "" if math.isinf(caption.best) else f"{caption.best:g}"
    if caption.distance and explanation.score == 0:
        text = "Identical to the model: distance 0, the best possible"
    elif caption.distance:
        text = f"Score {score}, minus a distance: 0 is the best possible"
    elif words == score:
        text = f"{matching} make {words} of {best}" if best else f"{matching} make the score {score}"
    else:
        text = f"{matching} make {words} of the score {score}"
        text += f"; {best} is the best possible" if best else ""
    if explanation.by_glossary:
        text += f"; {signed(explanation.by_glossary, _TITLE_DECIMALS)} of it by the glossary"
    if caption.probable and caption.probable.likely_from is not None:
        text += f"; from {plain(caption.probable.likely_from, _TITLE_DECIMALS)}, people mostly call two texts the same"
    return text


def subtitle(explanation: Explanation, caption: Caption) -> str:
    """Score, measure, model and what people would say, on one line."""
    score = plain(explanation.score, SCORE_DECIMALS)
    parts = [usual(explanation.score, caption.typical, caption.same)] if caption.typical else []
    parts += [f"{label(caption.measure, _MAX_NAME_EM)} score {score}", label(caption.model, _MAX_NAME_EM)]
    if caption.probable:
        share, data = round(100 * caption.probable.probability), label(caption.probable.data, _MAX_NAME_EM)
        parts.append(f"people call such a pair the same in {share} of 100 cases, judging by {data}")
    return " \u00b7 ".join(parts)


def usual(score: float, typical: ScoreRanges, same: Verdict | None = None) -> str:
    """Kinds of pairs that a score is usual for, in the words of assets/scale.js.

    A pair that does not say the same by its verdict is at best worded like a paraphrase.

    >>> typical = ScoreRanges(measure="rcmd_words", random=(0.06, 0.24), related=(0.42, 0.82), paraphrases=(0.6, 0.95))
    >>> usual(0.7, typical)
    'related or a paraphrase; unrelated pairs reach 0.24, paraphrases begin at 0.60'
    >>> [usual(score, typical).partition(";")[0] for score in (-0.5, 0.3, 0.5, 1.0)]
    ['unrelated', 'between unrelated and related', 'related', 'a paraphrase']
    >>> different = Verdict(verdict="different", log_odds=-9.0, base=0.0, rest=0.0, reasons=[])
    >>> usual(0.9, typical, different).partition(";")[0]
    'worded like a paraphrase'
    """
    paraphrase = "a paraphrase" if same is None or same.verdict == "same" else "worded like a paraphrase"
    kinds = {"unrelated": typical.random, "related": typical.related, paraphrase: typical.paraphrases}
    within = [name for name, (low, high) in kinds.items() if low <= score <= high]
    above = [name for name, (low, _) in kinds.items() if score < low][:1]
    below = [name for name, (_, high) in kinds.items() if score > high][-1:]
    said = " or ".join(within) or (f"between {below[0]} and {above[0]}" if above and below else (above + below)[0])
    reach, begin = plain(typical.random[1], 2), plain(typical.paraphrases[0], 2)
    return f"{said}; unrelated pairs reach {reach}, paraphrases begin at {begin}"


def cut_notes(texts: Mapping[str, ReadText]) -> tuple[str, ...]:
    """The part of each long text that was read or is shown, by the names of the texts.

    >>> cut_notes({"Text a": ReadText("abcdef", True, 0, 4), "Text b": ReadText("abc", False, 0, 3)})
    ('Text a was cut: the model read up to character 4 of 6.',)
    >>> cut_notes({"Text a": ReadText("abcdef", True, 4, 6)})
    ('Text a was cut: the model did not read the first 4 of 6 characters.',)
    >>> cut_notes({"Text a": ReadText("abcdef", False, 2, 6, is_passage=True)})
    ('Text a was read in passages: the nearest is shown, characters 2 to 6 of 6.',)
    """
    return tuple(f"{name} {_part(text)}." for name, text in texts.items() if text.truncated or text.is_passage)


def _part(text: ReadText) -> str:
    if text.is_passage:
        shown = f"characters {text.start:,} to {text.end:,} of {len(text.text):,}"
        return f"was read in passages: the nearest is shown, {shown}"
    return f"was cut: the model {_cut(text)}"


def _cut(text: ReadText) -> str:
    length = f"{len(text.text):,}"
    if text.start:
        return f"did not read the first {text.start:,} of {length} characters"
    return f"read up to character {text.end:,} of {length}"

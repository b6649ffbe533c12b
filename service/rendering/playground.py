"""An explanation as the playground draws it: rounded numbers, groups, classes of colors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from semblance_client.vocabulary.same import Verdict

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation
from semblance.models.text import Booleans
from semblance.service.rendering.colors import STEPS, ColorScale
from semblance.service.rendering.labels import signed
from semblance.service.rendering.parts import Segment, bar_of, says_much, score_parts, word_scale
from semblance.service.rendering.verdict import differing, places_of
from semblance.service.rendering.view import MAX_WORDS, Grid, grid_of, shades_of

VIEW_TYPE = "application/vnd.semblance.view+json"  # of JSON with a view; only the playground asks for it
_DECIMALS = 3
_MAX_WORD_EM, _MAX_SENTENCE_EM = 15.0, 16.5


def playground_view(explanation: Explanation, same: Verdict | None = None, best: float = math.inf) -> dict[str, Any]:
    """The parts of an explanation that the playground shows beside its links.

    Returns:
        `parts` of the score with their places in the bar, in percent, `a` and `b` with the classes and number of each
        word, a `legend` of classes and numbers (none if all are 0), and `matrices`, the second one of the words of long
        texts. A link that is a part has the same number everywhere: rounding may have changed its last digit.
    """
    parts = score_parts(explanation, _DECIMALS, merge=True)
    scale, totals = word_scale(explanation), explanation.contribution
    rounded = explanation.contribution.copy()
    for part in parts:
        if len(part.links) == 1:
            rounded[part.links[0]] = part.value
    shown = replace(explanation, contribution=rounded)
    grid = grid_of(shown)
    matrices = [_matrix("sentences" if grid.by_sentence else "words", grid, scale)]
    if grid.by_sentence:
        matrices.append(_matrix("words", grid_of(shown, MAX_WORDS, by_sentence=False), scale))
    segments = {segment.part: segment for segment in bar_of(parts, best)}
    differs = (differing(*side) for side in zip((explanation.left, explanation.right), places_of(same), strict=True))
    sides = zip((totals.sum(axis=1), totals.sum(axis=0)), says_much(explanation), differs, strict=True)
    a, b = (_words(*side, scale) for side in sides)
    return {
        "parts": [_part(segments[part]) for part in parts],
        "a": a,
        "b": b,
        "legend": _legend(scale, lowers=bool((totals < 0).any())),
        "matrices": matrices,
    }


def _part(segment: Segment) -> dict[str, Any]:
    part, links = segment.part, segment.part.links
    return {
        "name": part.name,
        "kind": part.kind,
        "value": part.exact,
        "shown": signed(part.value, _DECIMALS),
        "start": round(100 * segment.start, 2),
        "width": round(100 * segment.width, 2),
        "link": links[0] if len(links) == 1 else None,
    }


def _words(totals: Doubles, much: Booleans, differs: Booleans, scale: ColorScale) -> list[tuple[str, str]]:
    numbers = (signed(value, _DECIMALS) for value in totals.tolist())
    return list(zip(shades_of(totals, much, differs, scale), numbers, strict=True))


def _legend(scale: ColorScale, *, lowers: bool) -> list[tuple[str, str]]:
    steps = (-5, -3, -1, 0, 1, 3, 5) if lowers else range(STEPS + 1)
    values = [step * scale.limit / STEPS for step in steps if scale.limit]
    return [(scale.name(value), signed(value, _DECIMALS)) for value in values]


def _matrix(of: str, grid: Grid, scale: ColorScale) -> dict[str, Any]:
    rows, columns = ([row.name(_MAX_WORD_EM, _MAX_SENTENCE_EM) for row in side] for side in (grid.rows, grid.columns))
    return {"name": f"Matrix of {of}", "rows": rows, "columns": columns, "cells": grid.in_classes(scale)}

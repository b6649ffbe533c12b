"""Score pairs of texts with a model in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from semblance.models.catalogue import required_vectors, similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings, Want
from semblance.models.encoders.batches import batches, encode_batch
from semblance.models.protocols import Encoder, Track
from semblance.models.text import Role, TokenizedText

PAIRS_PER_BLOCK = 2048  # pairs with tokens in memory: 250 MB for sentences with 384 dimensions a token


class PairScorer:
    """Scores pairs by measures, given by name, encoding each distinct text of a call once."""

    def __init__(self, encoder: Encoder, track: Track) -> None:
        self._encoder = encoder
        self.track = track

    def embed(self, texts: Sequence[str], want: Want) -> dict[str, TokenEmbeddings]:
        """Text -> embeddings in the role of a query, for each distinct text."""
        return dict(self._encode(self._tokenize(texts, "query"), want))

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """Measure -> (n,) scores of left text i with right text i.

        Both have the role of a query, as in POST /similarity. Raises BadTexts, UnknownName.
        """
        want = required_vectors(*map(similarity, measures))
        scores: dict[str, list[Doubles]] = {name: [np.zeros(0)] for name in measures}
        for pairs in self.embedded_pairs(left, right, want):
            for name in measures:
                scores[name].append(self._score(name, pairs))
        return {name: np.concatenate(parts) for name, parts in scores.items()}

    def _score(self, measure: str, pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]]) -> Doubles:
        score = similarity(measure).score
        return np.array([score(a, b) for a, b in self.track(pairs, measure)], np.float64)

    def embedded_pairs(
        self, left: Sequence[str], right: Sequence[str], want: Want
    ) -> Iterator[list[tuple[TokenEmbeddings, TokenEmbeddings]]]:
        """Yield the embedded pairs, in blocks that bound the memory of tokens."""
        size = PAIRS_PER_BLOCK if want == "tokens" else max(1, len(left))
        for start in range(0, len(left), size):
            block = slice(start, start + size)
            embedded = self.embed([*left[block], *right[block]], want)
            yield [(embedded[a], embedded[b]) for a, b in zip(left[block], right[block], strict=True)]

    def _tokenize(self, texts: Sequence[str], role: Role) -> list[TokenizedText]:
        """Tokenize each distinct text."""
        return self._encoder.tokenize(list(dict.fromkeys(texts)), role, "END")

    def _encode(self, tokenized: Sequence[TokenizedText], want: Want) -> Iterator[tuple[str, TokenEmbeddings]]:
        """Yield each text with its embeddings."""
        for batch in self.track(batches(tokenized), "encoding"):
            for at, embeddings in encode_batch(self._encoder, tokenized, batch, want).items():
                yield tokenized[at].text, embeddings

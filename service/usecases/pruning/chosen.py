"""The sentences of texts that a request keeps, with their shares of the score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from semblance_client.vocabulary.prune import DroppedSentence, Keep, KeptSentence, KeptTotals

from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.selection.kept_sentences import KeptSentences, SentenceMatches, keep_share, keep_tokens
from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary

MEASURE = "rcmd1_content"  # whose cosines and masses decide what a sentence keeps
MAX_QUERY_TOKENS = 512


@dataclass(frozen=True, slots=True, eq=False)
class ChosenSentences:
    """The sentences of some texts, and which of them are kept.

    Attributes:
        matches: of the S sentences.
        kept: which ones.
        shares: (S,) of the score, what each adds.
    """

    matches: SentenceMatches
    kept: KeptSentences
    shares: Doubles

    @classmethod
    def of(
        cls,
        query: TokenEmbeddings,
        texts: Iterator[TokenEmbeddings] | Sequence[TokenEmbeddings],
        keep: Keep,
        glossary: Glossary = NO_GLOSSARY,
    ) -> ChosenSentences:
        """Choose among the sentences of all texts together, as a request wants it."""
        matches = SentenceMatches.of(query, texts, glossary)
        if keep.tokens is not None:
            kept = keep_tokens(matches, keep.tokens)
        else:
            assert keep.share is not None, "one of the two is given"
            kept = keep_share(matches, keep.share)
        return cls(matches, kept, kept.gains / (matches.score or 1.0))

    @property
    def totals(self) -> KeptTotals:
        """Sums over the kept sentences."""
        kept, tokens = self.kept.kept, self.matches.tokens
        return KeptTotals(
            score=self.matches.score,
            share=float(self.shares[kept].sum()),
            rest=1 - float(self.shares.sum()),
            kept_tokens=int(tokens[kept].sum()),
            tokens=int(tokens.sum()),
            measure=MEASURE,
        )

    def of_text(self, number: int, text: str) -> Iterator[DroppedSentence]:
        """The sentences of a text, by its number, in order; kept ones are `KeptSentence`."""
        first, last = np.searchsorted(self.matches.documents, [number, number + 1]).tolist()
        for row in range(first, last):
            start, end = self.matches.spans[row]
            tokens, share = int(self.matches.tokens[row]), float(self.shares[row])
            sentence = DroppedSentence(start=start, end=end, share=share, tokens=tokens)
            yield KeptSentence(**dict(sentence), text=text[start:end]) if self.kept.kept[row] else sentence

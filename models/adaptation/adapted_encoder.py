"""An encoder whose token vectors are changed after the fact: weighed, or mapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.files.digests import digest
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate


class AdaptedEncoder:
    """What another encoder makes of a text, changed, and the mean of that as the text's vector.

    With x_i (d,) the token vectors after the change and w_i their weights, the pooled vector is::

        mean: sum_i w_i x_i / sum_i w_i

    brought to unit length where the model says so. So explanations still sum to the score: they are made of the changed
    token vectors. The encoder must pool by a mean, and its own mean is not used; of a normalised one, that of the
    vectors before. Whatever is zero for a text without known words stays so.

    Args:
        encoder: the other one.
        change: of the embeddings of a text, which hold its tokens.
        dim: d after the change.
        space: digest of the encoder's space and of the change.
        normalize: whether the pooled vector is brought to unit length.
    """

    def __init__(
        self,
        encoder: Encoder,
        change: Callable[[TokenEmbeddings], TokenEmbeddings],
        *,
        dim: int,
        space: str,
        normalize: bool,
    ) -> None:
        self.name = encoder.name
        self.dim = dim
        self.max_tokens = encoder.max_tokens
        self.space = space
        self.build = digest(space=space, build=encoder.build)
        self._encoder = encoder
        self._change = change
        self._normalize = normalize

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """As the encoder does. Raises BadTexts."""
        return self._encoder.tokenize(texts, role, truncate)

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Vectors of each text. Tokens are computed also where they are not wanted. Raises DeviceLost."""
        made = self._encoder.encode(tokenized, "tokens")
        return [replace(self._change(each), given=None).finished(want, self._normalize) for each in made]

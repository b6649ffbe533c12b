"""A transformer network of the transformers library, on torch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Encoding, Tokenizer, normalizers
from transformers import AutoModel, AutoTokenizer

from models.checkpoint import Checkpoint
from models.embeddings import Floats, TokenEmbeddings, Want, unit_rows
from models.encoders.merged_adapter import merge
from models.errors import BadCheckpoint, BuildDisagrees, DeviceLost
from models.model_files import Precision, digest
from models.text import Role, TokenizedText, Truncate
from models.text_faults import require_tokens, require_visible
from models.token_head import TokenHead

AGREEMENT = 0.999  # least cosine to float32 at which another number type may serve the same space
PROBES = (
    "A cat sleeps on the windowsill.",
    "The central bank raised interest rates by half a percentage point on Thursday.",
    "How do I reset my password if I no longer have access to my e-mail account?",
    "No.",
    "Ärztinnen und Ärzte, 東京 2024: 3.5 % more than £1,000 (see §7) 🙂",
    "the quick brown fox jumps over the lazy dog " * 20,
)


class Transformer:
    """The last layer of a transformer network as token vectors; their mean, maximum or first as the text's vector.

    With H (n, d) the last hidden states of a text's n tokens, the special ones included, or what the folder's affine
    head makes of each of them, the pooled vector is::

        mean: sum_i w_i H_i / sum_i w_i   (w_i = 1; 0 for prompt tokens where the model leaves them out)
        cls:  H_1
        max:  max_i H_ij in each dimension j

    brought to unit length where the model says so. Without `modules.json`, the mean of all tokens.

    Args:
        name: the name it is served under.
        checkpoint: what its folder says.
        device: "cpu" or a CUDA device of torch.
        precision: what it computes in. "bfloat16" must agree with float32 to cosine 0.999 on `PROBES`.

    Raises:
        BadCheckpoint: the folder has no network or no fast tokenizer that transformers can load.
        BuildDisagrees: its vectors in that precision are too far from those in float32.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    def __init__(
        self, name: str, checkpoint: Checkpoint, device: str = "cpu", precision: Precision = "float32"
    ) -> None:
        self.name = name
        self._checkpoint = checkpoint
        self._device = torch.device(device)
        tokenizer, network = _load(checkpoint)
        self._network = network.eval().to(self._device)
        self._head = _head(checkpoint.head).to(self._device)
        self._pad_id = tokenizer.pad_token_id or 0
        self._tokenizer = _bare(tokenizer.backend_tokenizer, checkpoint.lower_case).to_str()
        self._own = threading.local()
        self._precision: Precision = "float32"
        self.dim = checkpoint.head.out_features if checkpoint.head else int(network.config.hidden_size)
        self.max_tokens = min(checkpoint.max_tokens or _positions(network), _positions(network))
        self.space = checkpoint.space
        self.build = digest(
            space=checkpoint.space, precision=precision, torch=torch.__version__, transformers=transformers.__version__
        )
        self._try_longest()
        if precision != "float32":
            self._compute_in(precision)

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """Tokens of each text, special and prompt tokens included.

        Raises:
            BadTexts: naming every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        require_visible(texts)
        prompt = self._checkpoint.prompts[role]
        encodings = self._thread_tokenizer().encode_batch([prompt + text for text in texts])
        tokenized = [
            self._cut(text, encoding, len(prompt), truncate) for text, encoding in zip(texts, encodings, strict=True)
        ]
        require_tokens(tokenized, truncate)
        return tokenized

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Vectors of each text; all of them pass through the network as one padded batch.

        Raises:
            DeviceLost: the device failed for good.
        """
        if not tokenized:
            return []
        try:
            return self._encode(tokenized, want)
        except torch.AcceleratorError as error:  # CUDA answers every later call of this process with the same error
            raise DeviceLost(f"{self._device}: {error}") from error
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()  # so that a smaller batch finds the room that this one leaves
            raise

    def _encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        lengths = [len(text) for text in tokenized]
        ids = torch.full((len(lengths), max(lengths)), self._pad_id, dtype=torch.long)
        mask = torch.zeros_like(ids)
        weights = torch.zeros(ids.shape, dtype=torch.float32)
        for row, text in enumerate(tokenized):
            ids[row, : len(text)] = torch.from_numpy(text.ids)
            mask[row, : len(text)] = 1
            weights[row, : len(text)] = torch.from_numpy(self._weights(text))
        # autocast keeps sums and norms in float32: a text in a batch then stays closer to the same text alone
        reduced = torch.autocast(self._device.type, torch.bfloat16, enabled=self._precision == "bfloat16")
        with torch.inference_mode(), reduced:
            ids, mask, weights = ids.to(self._device), mask.to(self._device), weights.to(self._device)
            hidden = self._head(self._network(input_ids=ids, attention_mask=mask).last_hidden_state).float()
            pooled = self._pool(hidden, mask, weights).cpu().numpy()
            vectors = (hidden if want == "tokens" else hidden[:, :0]).cpu().numpy()
        if self._checkpoint.normalize:
            pooled = unit_rows(pooled).astype(np.float32)
        return [
            TokenEmbeddings(
                vectors=vectors[row, : len(text)].copy(),
                weights=self._weights(text),
                text=text,
                given=pooled[row].copy(),  # not a view, which would keep the whole batch alive
                mean_pooled=self._checkpoint.pooling == "mean",
            )
            for row, text in enumerate(tokenized)
        ]

    def _pool(self, hidden: torch.Tensor, mask: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """(b, l, d) -> (b, d)."""
        match self._checkpoint.pooling:
            case "mean":
                total = (hidden * weights[..., None]).sum(dim=1)
                return total / weights.sum(dim=1, keepdim=True).clamp(min=1e-9)
            case "cls":
                return hidden[:, 0]
            case "max":
                return hidden.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1)

    def _weights(self, text: TokenizedText) -> Floats:
        """(n,) 1 for every token that takes part in the mean."""
        weights = np.ones(len(text), np.float32)
        if text.prompted and not self._checkpoint.include_prompt:
            weights[: int(np.argmin(text.special))] = 0.0  # everything before the text's own first token
        return weights

    def _cut(self, text: str, encoding: Encoding, prompt_length: int, truncate: Truncate) -> TokenizedText:
        """The tokens that fit: special and prompt tokens stay, the text's own give way at the chosen end."""
        spans = np.asarray(encoding.offsets, np.int32).reshape(-1, 2)
        words = np.array([-1 if word is None else word for word in encoding.word_ids], np.int32)
        special = np.asarray(encoding.special_tokens_mask, np.bool_) | (words < 0) | (spans[:, 1] <= prompt_length)
        spans = np.where(special[:, None], 0, np.maximum(spans - prompt_length, 0)).astype(np.int32)
        own = np.flatnonzero(~special)
        excess = len(special) - self.max_tokens
        keep = np.ones(len(special), np.bool_)
        if excess > 0:
            keep[own[:excess] if truncate == "START" else own[-excess:]] = False
        return TokenizedText(
            text=text,
            ids=np.asarray(encoding.ids, np.int32)[keep],
            spans=spans[keep],
            words=np.where(special, -1, words).astype(np.int32)[keep],
            truncated=excess > 0,
            prompted=prompt_length > 0,
        )

    def _thread_tokenizer(self) -> Tokenizer:
        """This thread's own copy: a fast tokenizer shared between threads fails with "Already borrowed"."""
        if not hasattr(self._own, "tokenizer"):
            self._own.tokenizer = Tokenizer.from_str(self._tokenizer)
        return cast("Tokenizer", self._own.tokenizer)

    def _try_longest(self) -> None:
        """One pass of as many tokens as are promised: what fails there would fail a caller later."""
        try:
            self.encode(self.tokenize(["a " * self.max_tokens], "document", "END"), "pooled")
        except Exception as error:
            raise BadCheckpoint(
                f"{self._checkpoint.folder} cannot encode a text of {self.max_tokens} tokens: {error}"
            ) from error

    def _compute_in(self, precision: Precision) -> None:
        """Compute in `precision` from now on, if the vectors stay where float32 has them."""
        probes = self.tokenize(PROBES, "document", "END")
        exact = self.encode(probes, "tokens")
        self._precision = precision
        close = self.encode(probes, "tokens")
        pairs = [(unit_rows(x.vectors), unit_rows(y.vectors)) for x, y in zip(exact, close, strict=True)]
        least = min(float((x * y).sum(axis=1).min()) for x, y in pairs)
        if least < AGREEMENT:
            raise BuildDisagrees(
                f"{self.name} in {precision} has cosine {least:.5f} to its float32 vectors, less than {AGREEMENT}: "
                "serve it in float32"
            )


def _bare(tokenizer: Tokenizer, lower_case: bool) -> Tokenizer:
    """A copy that neither pads nor truncates: both are done here, where they are reported."""
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_padding()
    copy.no_truncation()
    if lower_case:
        steps = [normalizers.Lowercase()] + ([copy.normalizer] if copy.normalizer else [])
        copy.normalizer = normalizers.Sequence(steps)
    return copy


def _load(checkpoint: Checkpoint) -> tuple[Any, Any]:
    """The tokenizer and the network of a folder, complete and without any code of its own."""
    # its bar would stand between the lines of a log
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, local_files_only=True, trust_remote_code=False)
        network, report = AutoModel.from_pretrained(
            checkpoint.folder,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    except (OSError, ValueError, KeyError) as error:
        raise BadCheckpoint(f"transformers cannot load {checkpoint.folder}: {error}") from error
    if not tokenizer.is_fast:
        raise BadCheckpoint(f"{checkpoint.folder} has no fast tokenizer (tokenizer.json), which gives character spans")
    # the pooler is not used here; any other weight that is missing would be random
    absent = [name for name in (*report["missing_keys"], *report["mismatched_keys"]) if "pooler" not in str(name)]
    if absent:
        raise BadCheckpoint(f"{checkpoint.folder} lacks {len(absent)} weights of its network, such as {absent[0]}")
    if checkpoint.adapter is not None:
        merge(checkpoint.adapter, network)
    return tokenizer, network


def _head(head: TokenHead | None) -> torch.nn.Module:
    """The affine map of every token vector, with its weights; without one, nothing happens to them."""
    if head is None:
        return torch.nn.Identity()
    linear = torch.nn.Linear(head.in_features, head.out_features, bias=head.bias)
    try:
        weights = load_file(head.weights)
        linear.load_state_dict({name.removeprefix("linear."): value.float() for name, value in weights.items()})
    except (OSError, SafetensorError, RuntimeError) as error:
        raise BadCheckpoint(f"cannot load {head.weights}: {error}") from error
    return linear.eval()


def _positions(network: Any) -> int:
    """Most tokens the network has positions for; RoBERTa's kin number theirs from the padding id on."""
    table = getattr(getattr(network, "embeddings", None), "position_embeddings", None)
    if isinstance(table, torch.nn.Embedding):
        return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    return int(getattr(network.config, "max_position_embeddings", 512))

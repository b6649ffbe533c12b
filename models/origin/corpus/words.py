"""What a word of a sentence is, wherever sentences are drawn or screened."""

from __future__ import annotations

from tokenizers import normalizers

from semblance.models.evaluation.contamination import normal_form

_SPACED = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=True)


def words(sentence: str) -> list[str]:
    """The words of a sentence, in lower case and without punctuation; each Han character is one.

    >>> words("The dog's bone, 你好")
    ['the', 'dog', 's', 'bone', '你', '好']
    """
    return normal_form(_SPACED.normalize_str(sentence)).split()

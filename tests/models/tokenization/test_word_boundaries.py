"""Words of texts in many scripts, under every kind of tokenizer."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from semblance.models.tokenization.subwords import FastTokenizer
from semblance.models.tokenization.word_boundaries import number_words, segments, words
from semblance.models.tokenization.words import Subwords
from tests.conftest import missing

BREAK_TEST = Path("/usr/share/unicode/auxiliary/WordBreakTest.txt")  # of the Debian package unicode-data
CASES = 1800  # at least, in its files
SENTENCES = (
    "Don't pay 3.14 dollars, Mr. O'Neil: it's a well-known trick (really)!",
    "Das Mädchen schläft auf dem Sofa, während es draußen regnet.",
    "L'avion n'est jamais arrivé; où est-il aujourd'hui ?",
    "¿Dónde está el paquete que pedí ayer?",
    "Мой заказ так и не пришёл, а деньги списали.",
    "Моє замовлення не прийшло.",
    "Το δέμα μου δεν ήρθε ποτέ.",
    "لم تصل الطرود التي طلبتها أبدا.",
    "החבילה שלי לא הגיעה מעולם.",
    "मेरा पार्सल कभी नहीं आया।",
    "আমার পার্সেল কখনও আসেনি।",
    "என் பொதி வரவே இல்லை.",
    "నా పార్శిల్ ఎప్పుడూ రాలేదు.",
    "พัสดุของฉันไม่เคยมาถึง",
    "ພັດສະດຸຂອງຂ້ອຍບໍ່ເຄີຍມາຮອດ",
    "កញ្ចប់របស់ខ្ញុំមិនដែលមកដល់ទេ",
    "ကျွန်တော့်ပါဆယ် ဘယ်တော့မှ မရောက်ပါ။",
    "ჩემი ამანათი არასოდეს მოვიდა.",
    "Իմ ծանրոցը երբեք չեկավ։",
    "ጥቅሌ መቼም አልደረሰም።",
    "我的包裹从来没有到过，我们是学生。",
    "荷物はどこですか。私は学生です。",
    "내 소포가 도착하지 않았어요.",
)
SIGNS = (
    "🙂",
    "👨‍👩‍👧",
    "🇩🇪",
    "e\u0301",
    "o" + "\u0308" * 300,
    "\u202eab\u202c",
    "\u200b",
    " ",
    "  ",
    "\n",
    "\u00a0",
    "…",
    "?!",
    "ﬁ",
    "①",
)


def word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        SENTENCES, trainers.WordPieceTrainer(vocab_size=900, special_tokens=["[UNK]", "[CLS]", "[SEP]"])
    )
    template = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.post_processor = template
    return tokenizer


def unigram() -> Tokenizer:
    """As XLM-R has it: white space is a part of the pieces that it precedes."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(
        SENTENCES, trainers.UnigramTrainer(vocab_size=900, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"])
    )
    tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 1))
    return tokenizer


def byte_level(trim: bool) -> Tokenizer:
    """As RoBERTa and GPT-2 have it: several pieces may be bytes of one character."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    return tokenizer


TOKENIZERS = {
    "WordPiece": word_piece(),
    "Unigram": unigram(),
    "byte-level BPE": byte_level(trim=False),
    "byte-level BPE, trimmed": byte_level(trim=True),
}


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Parts of sentences and signs, with and without spaces between them."""
    parts = draw(st.lists(st.sampled_from(SENTENCES) | st.sampled_from(SIGNS), min_size=1, max_size=6))
    cut = [part[draw(st.integers(0, 9)) :][: draw(st.integers(1, 40))] for part in parts]
    return draw(st.sampled_from(["", " "])).join(cut)


@given(texts())
@example("x\u202fy_z")
def test_words_have_each_visible_character_once(text: str) -> None:
    found = words(text)
    covered = [place for start, end in found for place in range(start, end)]
    assert covered == [place for place, character in enumerate(text) if not character.isspace()]
    assert all(end > start for start, end in found)
    marks = [text[start:end] for start, end in found if any(unicodedata.category(c)[0] == "P" for c in text[start:end])]
    assert all(len(mark.rstrip("\u0301\u0308\u200d\u200b\u202e\u202c")) == 1 for mark in marks), marks


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)) | st.sampled_from(SENTENCES[:1]))
def test_words_of_english_are_those_of_bert(text: str) -> None:
    expected = [span for _, span in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    assert words(text) == expected
    beside = words(f"{text} é")  # by the boundaries of Unicode
    assert beside == [*expected, (len(text) + 1, len(text) + 2)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我们是学生。", ["我们", "是", "学生", "。"]),
        ("荷物はどこですか", ["荷物", "は", "どこ", "です", "か"]),
        ("ฉันรักภาษาไทย", ["ฉัน", "รัก", "ภาษา", "ไทย"]),
        ("ขอบคุณ🙂🙂มาก", ["ขอบคุณ", "🙂", "🙂", "มาก"]),
        ("l’avion, où?", ["l", "’", "avion", ",", "où", "?"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
        ("«Привет»—мир", ["«", "Привет", "»", "—", "мир"]),
        ("👨‍👩‍👧 🇩🇪🇫🇷", ["👨‍👩‍👧", "🇩🇪", "🇫🇷"]),
        ("£600m", ["£", "600m"]),
        ("مرحبا بالعالم؟", ["مرحبا", "بالعالم", "؟"]),
    ],
)
def test_words_are_those_of_the_script(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in words(text)] == expected


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(text=texts())
@example(text="a" + " " * 9)
def test_every_piece_has_one_word_in_reading_order(kind: str, text: str) -> None:
    tokenizer = FastTokenizer(TOKENIZERS[kind].to_str(), 10_000)
    text = f"{text} x"  # no tokenizer removes that
    [tokens] = tokenizer.tokenize([text], "", "END")
    units = tokens.units()
    numbers = units.words.tolist()
    assert set(np.diff([-1, *numbers]).tolist()) <= {0, 1}, "ascending, and none is left out"
    assert (np.diff(units.spans[:, 0]) >= 0).all()
    written = [unit.text for unit in units.by_word()[0]]
    assert all(word == word.strip() for word in written), written
    assert len(written) <= len(words(text))


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("text", SENTENCES)
def test_tables_of_subwords_have_the_same_words(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    [tokens] = FastTokenizer(tokenizer.to_str(), 10_000).tokenize([text], "", "END")
    [rows] = Subwords(tokenizer)([text])
    own = {(row.start, row.end, row.word) for row in rows}
    assert own <= {(unit.start, unit.end, unit.word) for unit in tokens.units()}


def test_a_prompt_changes_no_word() -> None:
    for text in SENTENCES:
        tokenizer = FastTokenizer(TOKENIZERS["Unigram"].to_str(), 10_000)
        [plain] = tokenizer.tokenize([text], "", "END")
        [prompted] = tokenizer.tokenize([text], "query: ", "END")
        assert [*prompted.units().by_word()[0]] == [*plain.units().by_word()[0]]


def test_a_piece_belongs_to_the_word_that_it_covers_most() -> None:
    text = "我们是学生"  # 我们, 是, 学生
    assert number_words(text, [(0, 1), (1, 3), (3, 5)]) == [(0, 1, 0), (1, 3, 0), (3, 5, 1)]
    assert number_words(text, [(0, 1), (1, 5)]) == [(0, 1, 0), (1, 5, 1)]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 1), (1, 3)], [(0, 1, 0), (2, 3, 1)]),
        ([(0, 1), (1, 2), (2, 3), (3, 5)], [(0, 1, 0), (2, 2, 1), (2, 3, 1), (3, 3, 1)]),
    ],
)
def test_white_space_is_no_part_of_a_word(spans: list[tuple[int, int]], expected: list[tuple[int, int, int]]) -> None:
    assert number_words("a b  ", spans) == expected


def test_boundaries_are_those_of_unicode() -> None:
    if not BREAK_TEST.exists():
        missing("the package unicode-data")
    tried = 0
    for line in BREAK_TEST.read_text("utf-8").splitlines():
        case = line.partition("#")[0].strip(" \t÷")
        if case:
            parts = [
                "".join(chr(int(code, 16)) for code in part.split("×") if code.strip()).replace("\u2701", "\u2702")
                for part in case.split("÷")
            ]  # U+2701 was a pictograph when the file was made
            text = "".join(parts)
            assert [text[start:end] for start, end in segments(text)] == parts, line
            tried += 1
    assert tried >= CASES

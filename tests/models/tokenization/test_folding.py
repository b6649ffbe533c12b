"""One form of a word: laws over all of Unicode, and what people type for what texts have."""

from __future__ import annotations

import sys
import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.tokenization.folding import DASHES, fold
from semblance.models.tokenization.terms import Term, document_terms, query_terms

CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
FILLERS = "\u115f\u1160\u3164\uffa0"  # blanks of Hangul, which end a word of another script
ALL_DASHES = "-" + DASHES
INVISIBLE = regex.findall(rf"(?V1)[\p{{Default_Ignorable_Code_Point}}--[{FILLERS}\p{{Cn}}]]", "".join(CHARACTERS))
WORDS = (
    "Łódź København Þórður Straße cœur ALL-12 no.12/3 AB-12 don't Hawaiʻi أحمد مدرسة خانهٔ کتاب۱۲ सन्२०२६ Ελλάς Йод "
    "cafe\u0301 ﬁne ＡＢ－１２ 👍🏽 ❤️ 👩‍💻 🇩🇪 1️⃣ 東京 ภาษา๑๒ 한국어 ガス ½ ŉ"
)
TEXTS = st.lists(st.sampled_from([*WORDS.split(), *" -/", "\u200b", "\u200d", "\u0654"]), max_size=8).map("".join)
ANY_TEXT = TEXTS | st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=12)


def words(text: str) -> list[str]:
    return [term.text for term in document_terms(text)]


def queried(text: str) -> list[str]:
    return [term.text for term in query_terms(text)]


def test_every_character_is_folded_once() -> None:
    for character in CHARACTERS:
        folded = fold(character)
        assert fold(folded) == folded, f"U+{ord(character):04X}"
        assert fold(unicodedata.normalize("NFD", character)) == folded, f"U+{ord(character):04X}"


@given(text=ANY_TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(text=ANY_TEXT)
def test_terms_are_in_their_folded_form(text: str) -> None:
    for term in {*words(text), *queried(text)}:
        assert fold(term) == term or regex.search(r"\p{Extended_Pictographic}\p{M}*", term)


@given(text=ANY_TEXT)
def test_a_query_finds_the_text_that_it_was_copied_from(text: str) -> None:
    assert set(queried(text)) <= set(words(text))


@given(text=ANY_TEXT)
def test_spans_are_code_points_of_the_original_text(text: str) -> None:
    for term in document_terms(text):
        assert 0 <= term.start < term.end <= len(text)
        assert term.text in words(text[term.start : term.end])


@given(text=TEXTS.filter(lambda text: "ŉ" not in text))  # its case folding is two characters, of which one joins words
def test_terms_do_not_depend_on_case(text: str) -> None:
    for other in (text.upper(), text.lower(), text.casefold()):
        assert words(other) == words(text)
        assert queried(other) == queried(text)


@given(dashes=st.lists(st.sampled_from(ALL_DASHES), min_size=2, max_size=2))
def test_every_dash_joins_a_code(dashes: list[str]) -> None:
    one, other = (f"AB{dash}12" for dash in dashes)
    assert queried(one) == ["ab", "12", "ab-12"]
    assert words(f"Size {other}, Ł") == ["size", "ab", "12", "ab-12", "l"]


def test_every_dash_of_unicode_is_known() -> None:
    dashes = regex.findall(r"\p{Dash}", "".join(CHARACTERS))
    assert {dash for dash in dashes if unicodedata.category(dash) != "Cn"} == set(ALL_DASHES)


@given(
    word=st.sampled_from(["lodz", "Łódź", "E-4711", "ガズ", "東京都", "한국어", "مدرسة", "no.12/3", "👩💻"]),
    mark=st.sampled_from([character for character in INVISIBLE if not "\U000e0020" <= character <= "\U000e007f"]),
    data=st.data(),
)
def test_characters_that_are_not_seen_change_no_term(word: str, mark: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(word)))
    if mark == "\u200b" and regex.search(r"[\p{Han}\p{Katakana}\p{Hangul}]", word):
        return  # there it separates words
    changed = word[:at] + mark + word[at:]
    assert words(changed) == words(word)
    assert queried(changed) == queried(word)


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Łódź", "lodz"),
        ("København", "kobenhavn"),
        ("Đorđe", "dorde"),
        ("Ħal Għaxaq", "hal ghaxaq"),
        ("ISPARTA ısı", "isparta isi"),
        ("Ŧuoddâr", "tuoddar"),
        ("STRAẞE Straße", "strasse strasse"),
        ("Ærø æble", "aero aeble"),
        ("Œuvre cœur", "oeuvre coeur"),
        ("Þór eða Guðný", "thor eda gudny"),
        ("Áŋŋel", "annel"),
        ("ĸujanĸ", "qujanq"),
        ("Åland Ångström", "aland angstrom"),
        ("Ḷḷorëu coŀlecció", "lloreu colleccio"),
        ("Əliyev Azərbaycan", "eliyev azerbaycan"),
        ("Ɓiɗɗo Ƙano Ƴaƴa", "biddo kano yaya"),
        ("Eʋegbe Kɔku ɖe", "evegbe koku de"),
        ("Imaziɣen", "imazighen"),
        ("ǥ ƶ ɇ ⱥ ꝁ ꞩ", "g z e a k s"),
        ("ꜱᴍᴀʟʟ ᴄᴀᴘɪᴛᴀʟꜱ", "small capitals"),
        ("ꝺ ꝼ ẜ ƒ ȷ", "d f s f j"),
        ("Ǉubǉana Ĳssel", "ljubljana ijssel"),
        ("ʿAlī al-Qurʾān", "ali al quran"),
        ("Hawaiʻi Oʻzbek п’ять", "hawai'i o'zbek п'ять"),
    ],
)
def test_latin_letters_are_found_by_what_people_type(text: str, typed: str) -> None:
    assert words(text) == words(typed)
    assert queried(typed) == queried(text)


def test_letters_of_latin_alphabets_are_all_ascii() -> None:
    letters = [chr(code) for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)) if chr(code).isalpha()]
    left = {folded for folded in map(fold, letters) if not folded.isascii()}
    phonetic = "ƪƍƛƨƻƽƾǀǁǂǃƅƹȝɂʌʃɯ"  # also tones, clicks and glottal stops
    assert left == {*phonetic, "ẟ"}, "small delta is a letter of Greek"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("كِتَابٌ كتـــاب", "كتاب كتاب"),
        ("أحمد إبراهيم آمن ٱلله", "احمد ابراهيم امن الله"),
        ("أَحمد", "احمد"),
        ("مصطفى علي", "مصطفي على"),
        ("کتاب ایران", "كتاب ايران"),
        ("مدرسة", "مدرسه"),
        ("خانهٔ خانۀ", "خانه خانه"),
        ("پاکستان کے", "پاكستان كي"),
        ("ﻛﺘﺎﺏ ﷲ ﻻ", "كتاب الله لا"),
        ("کتاب\u200cها می\u200cخواهم", "کتابها میخواهم"),
        ("۱۴۰۳ ١٤٤٥", "1403 1445"),
        ("٣٫٥", "3.5"),
    ],
)
def test_forms_of_arabic_letters_find_each_other(text: str, typed: str) -> None:
    assert words(text) == words(typed)


@pytest.mark.parametrize(("one", "other"), [("سؤال", "سوال"), ("شيء", "شي"), ("ئ", "ي"), ("گھر", "گهر"), ("ک", "گ")])
def test_letters_that_make_another_word_of_arabic_are_kept(one: str, other: str) -> None:
    assert words(one) != words(other)


@pytest.mark.parametrize("digits", ["१२३", "๑๒๓", "၁၂၃", "១២៣", "১২৩", "１２３", "𝟏𝟐𝟑", "۱۲۳", "١٢٣", "1️⃣2️⃣3️⃣"])
def test_digits_of_every_script_are_found_by_ascii_digits(digits: str) -> None:
    assert words(digits) == ["123"]
    assert words(f"AB-{digits}") == ["ab", "123", "ab-123"]


@pytest.mark.parametrize(
    "text", ["AB\u30fc12", "ＡＢー１２", "AB\uff7012", "AB\u200b-\u200b12", "AB\u2011\ufeff12", "A\u00adB—12"]
)
def test_codes_are_found_however_they_were_typed(text: str) -> None:
    assert "ab-12" in words(text)
    assert "ab-12" in queried(text)


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Thanks ❤️!", "❤"),
        ("Thanks ❤!", "❤\ufe0f"),
        ("ok👍🏽ok", "👍"),
        ("👍", "👍🏿"),
        ("I am a 👩🏾‍💻", "💻"),
        ("I am a 👩🏾‍💻", "👩"),
        ("from 🇫🇷🇩🇪", "🇩🇪"),
        ("☎️ 555", "☎"),
        ("🤷‍♀️", "🤷"),
        ("🏴󠁧󠁢󠁷󠁬󠁳󠁿", "🏴󠁧󠁢󠁷󠁬󠁳󠁿"),
    ],
)
def test_a_pictograph_finds_texts_that_have_it(text: str, typed: str) -> None:
    [term] = queried(typed)
    assert term in words(text)


def test_flags_and_marks_of_trade_are_not_mixed_up() -> None:
    assert not set(words("🇫🇷🇩🇪")) & set(queried("🇷🇩"))
    assert not set(words("🏴󠁧󠁢󠁷󠁬󠁳󠁿")) & set(queried("🏴󠁧󠁢󠁥󠁮󠁧󠁿"))
    assert words("Name® ©2026™ ‼") == ["name", "2026"]


def test_spans_cover_what_a_reader_sees() -> None:
    text = "Größe Ł\u00adó\u200bdź, ＡＢ‑１２: 👍🏽❤️ 👩🏾‍💻"
    spans = {term.text: text[term.start : term.end] for term in document_terms(text)}
    assert spans == {
        "grosse": "Größe",
        "lodz": "Ł\u00adó\u200bdź",
        "ab": "ＡＢ",
        "12": "１２",
        "ab-12": "ＡＢ‑１２",
        "👍": "👍🏽",
        "❤": "❤️",
        "👩": "👩🏾‍",
        "💻": "💻",
    }
    assert next(document_terms("ŒŒ ﷺ")) == Term("oeoe", 0, 2)


def test_a_zero_width_space_ends_words_only_without_other_spaces() -> None:
    assert words("Donau\u200bdampf") == ["donaudampf"]
    assert "าษ" not in words("ภา\u200bษา")
    assert "าษ" in words("ภาษา")

"""Encodings that programs write are found by their bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.errors import BadDataSet
from semblance.service.files.encodings import encoding_of, known_encoding
from semblance.service.files.opening import open_source
from semblance.service.files.sources import Reading

GERMAN = "Die Größe paßt nicht – bitte für 5 € umtauschen."


PROSE = {
    "de": f"{GERMAN}\nIch möchte die Schuhe zurückgeben.\nWann kommt mein Päckchen an?",
    "fr": "La taille ne va pas – échangez-la, s’il vous plaît.\nJe n’ai pas reçu le colis.\nOù est-il, déjà payé ?",
    "es": "¿Dónde está mi pedido?\nLa talla no es la mía; quiero cambiarla mañana.\nEl niño rompió la lámpara.",
}


def sample(language: str) -> str:
    """Sentences, or names of languages and countries from the CLDR."""
    locale = Locale(language)
    names = [*locale.languages.values(), *locale.territories.values()]
    return PROSE.get(language, "\n".join(" ".join(names[i : i + 6]) for i in range(0, 120, 6)))


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("de", "cp1252"),
        ("fr", "cp1252"),
        ("es", "cp1252"),
        ("sv", "cp1252"),
        ("pl", "cp1250"),
        ("cs", "cp1250"),
        ("ru", "cp1251"),
        ("el", "cp1253"),
        ("tr", "cp1254"),
        ("ja", "cp932"),
        ("zh", "gb18030"),
        ("ko", "cp949"),
        ("de", "mac-roman"),
        ("de", "utf-16"),
        ("de", "utf-16-le"),
        ("de", "utf-32"),
        ("de", "utf-8-sig"),
    ],
)
def test_texts_are_read_whatever_program_wrote_them(tmp_path: Path, language: str, encoding: str) -> None:
    text = sample(language).encode(encoding, "ignore").decode(encoding)
    file = tmp_path / "a.txt"
    file.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    rows = [row.fields for row in open_source(file).rows()]
    assert rows == [{"text": line.strip()} for line in text.split("\n")]


def test_a_euro_sign_far_into_the_file_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    lines = ["id;text", *(f"{i};plain" for i in range(200_000)), f"x;{GERMAN}"]
    file.write_bytes("\n".join(lines).encode("cp1252"))
    source = open_source(file)
    assert source.reading == Reading("csv", "cp1252", ";")
    *_, last = source.rows()
    assert last.fields == {"id": "x", "text": GERMAN}


@given(st.text())
def test_utf_8_is_never_taken_for_another(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("texts") / "a.txt"
    file.write_bytes(text.replace("\0", "").encode())
    assert encoding_of(file) == "utf-8"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 20)
    with pytest.raises(BadDataSet, match=r"a\.txt is not a text in an encoding that is known here"):
        encoding_of(file)
    (tmp_path / "b.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(BadDataSet, match=r"b\.csv\.gz cannot be decompressed"):
        encoding_of(tmp_path / "b.csv.gz")


@pytest.mark.parametrize("name", ["latin-9000", "base64", "rot13", "a\0b"])
def test_names_that_are_no_encodings_are_refused(name: str) -> None:
    with pytest.raises(BadDataSet, match="is not an encoding: name one such as utf-8, cp1252"):
        known_encoding(name)

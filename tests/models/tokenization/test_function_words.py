"""Function words: those of the language of a text."""

from __future__ import annotations

import pytest

from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.word_boundaries import words as words_of


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The doctor asked the patients to come back.", "doctor asked patients come back"),
        ("Der Arzt bat die Patienten, weil die Maschine kaputt war.", "Arzt bat Patienten Maschine kaputt"),
        ("Le colis n'est jamais arrivé dans l'entreprise.", "colis jamais arrivé entreprise"),
        ("El paquete nunca llegó y la empresa se niega.", "paquete nunca llegó empresa niega"),
        ("O cachorro não dorme no sofá da minha avó.", "cachorro não dorme sofá avó"),
        ("Il cane non dorme sul divano della nonna.", "cane non dorme divano nonna"),
        ("De hond slaapt niet op de bank van mijn oma.", "hond slaapt niet bank oma"),
        ("Моя сестра работает в больнице и не спит.", "сестра работает больнице не спит"),
        ("Моя сестра працює в лікарні й не спить.", "сестра працює лікарні не спить"),
        ("Pies nie śpi na kanapie mojej babci.", "Pies nie śpi kanapie babci"),
        ("大雨过后，那座旧桥被关闭了。", "大雨 过后 旧 桥 关闭"),
        ("図書館で借りた本を電車に忘れた。", "図書館 借り 本 電車 忘れ"),
        ("اشترى والدي سيارة جديدة في عام بعد أن باع بيتنا", "اشترى والدي سيارة جديدة عام باع بيتنا"),
        ("הילדה מצאה את הכלב של השכן", "הילדה מצאה הכלב השכן"),
        ("והביאה אותו הביתה", "והביאה הביתה"),
        ("किसान ने बारिश के बाद खेत में चावल बोया।", "किसान बारिश बाद खेत चावल बोया"),
        ("คุณครูดื่มกาแฟร้อนก่อนที่เธอจะเดิน", "คุณครู ดื่ม กาแฟ ร้อน เดิน"),
        ("war crimes", "war crimes"),
        ("I'm sure it isn't $5 🙂 ~ you'll see!", "sure isn t $ 5 🙂 see"),
        ("a man will die in the war", "man die war"),
        ("a dog and la vita", "dog la vita"),
    ],
)
def test_function_words_are_those_of_the_language(text: str, kept: str) -> None:
    """Words such as "die" and "war" are so in German only."""
    found = [text[start:end] for start, end in words_of(text)]
    assert [word for word, much in zip(found, say_much(found), strict=True) if much] == kept.split()

"""Verdicts of the multilingual model on texts in its languages, by the classifier that is shipped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from semblance_client.vocabulary.same import Verdict

from semblance.models.encoders.transformer import Transformer
from semblance.service.model_loading.classifiers import read_classifiers
from semblance.service.ports.paraphrases import ServedClassifier
from semblance.service.usecases.paraphrases.verdicts import verdict

pytestmark = pytest.mark.xdist_group("multilingual")  # which one worker loads

Judge = Callable[[str, str], Verdict]


@pytest.fixture(scope="module")
def judge(multilingual: Transformer) -> Judge:
    served = ServedClassifier(read_classifiers()[multilingual.space], None)

    def judged(a: str, b: str) -> Verdict:
        left, right = multilingual.encode(multilingual.tokenize([a, b], "query", "PASSAGES"), "tokens")
        return verdict(served, left, right)

    return judged


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Wie kann ich mein Passwort zurücksetzen?", "Wie setze ich mein Passwort zurück?"),
        ("Die Sitzung dauert 2 Stunden", "Die Sitzung dauert 120 Minuten"),
        ("¿Dónde está mi pedido?", "¿Dónde puedo encontrar mi pedido?"),
        ("Le 3 janvier est un jour férié", "Le trois janvier est un jour férié"),
        ("How can I reset my password?", "What is the best way to reset my password?"),
    ],
)
def test_other_words_for_the_same_are_the_same(judge: Judge, a: str, b: str) -> None:
    assert judge(a, b).verdict == "same"


@pytest.mark.parametrize(
    ("a", "b", "kind", "left", "right"),
    [
        ("Mein Paket ist nicht angekommen", "Mein Paket ist angekommen", "negation", "nicht", ""),
        ("Comment ouvrir un compte ?", "Comment fermer un compte ?", "replaced", "ouvrir", "fermer"),
        ("Le train part à 5 heures", "Le train part à 6 heures", "number", "5 heures", "6 heures"),
        ("¿Cómo activo los avisos?", "¿Cómo desactivo los avisos?", "replaced", "activo", "desactivo"),
        ("Il pacco non è arrivato", "Il pacco è arrivato", "negation", "non", ""),
        ("O meu pacote não chegou à loja", "O meu pacote chegou à loja", "negation", "não", ""),
        ("Paket nicht angekommen", "Mein Paket ist angekommen", "negation", "nicht", ""),
    ],
)
def test_differences_are_named(judge: Judge, a: str, b: str, kind: str, left: str, right: str) -> None:
    found = judge(a, b)
    reason = found.reasons[0]
    named = (" ".join(place.text for place in side) for side in (reason.a, reason.b))
    assert (found.verdict, reason.kind, *named) == ("different", kind, left, right)


@pytest.mark.parametrize(
    "text",
    [
        "Моя посылка не пришла, и что теперь?",
        "我的包裹没有到",
        "Paczka jeszcze nie przyszła, a co ja mam teraz z tym zrobić?",
    ],
)
def test_other_languages_are_unsure(judge: Judge, text: str) -> None:
    assert judge(text, "My parcel never came").unsure == "language"

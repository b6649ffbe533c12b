"""The cross-encoder that reranking is compared with, and the ratios of the rates."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.baselines.encoder_process import EncoderProcess
from benchmarks.baselines.rerankers import REFERENCE, CrossEncoderProcess, Question, save_cross_encoder
from benchmarks.speed.reranking import DOCUMENTS, QUESTIONS, WORDS, questions, rates, ratios
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source

SENTENCES = [f"sentence {number} of the stock" for number in range(500)]


@pytest.mark.nightly
def test_scores_are_those_of_a_network_of_the_same_size(tmp_path: Path) -> None:
    save_cross_encoder(tmp_path)
    question = Question("my parcel never came", ["Track a shipment.", "Return shoes within 30 days."])
    command = (sys.executable, "-m", "benchmarks.baselines.cross_encoder", str(tmp_path), "float32")
    with EncoderProcess(REFERENCE, command) as process:
        scores = CrossEncoderProcess(process).scores(question)
    network = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    config = network.config
    size = (config.num_hidden_layers, config.hidden_size, config.num_attention_heads, config.num_labels)
    assert size == (6, 384, 12, 1)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    pairs = tokenizer([question.query] * 2, list(question.documents), padding=True, return_tensors="pt")
    with torch.inference_mode():
        expected = torch.sigmoid(network(**pairs).logits[:, 0]).numpy()
    assert scores == pytest.approx(expected, abs=1e-6)
    own = read_source("minilm").load("minilm", Compute()).tokenize([question.documents[1]], "document", "END")
    assert tokenizer(question.documents[1])["input_ids"] == own[0].ids.tolist()


def test_no_document_is_in_two_questions() -> None:
    measured = list(islice(questions(SENTENCES), 3))
    assert [len(each) for each in measured] == [QUESTIONS] * 3
    texts = [text for each in measured for question in each for text in question.documents]
    assert len(set(texts)) == len(texts) == 3 * QUESTIONS * DOCUMENTS
    assert {len(text.split()) for text in texts} == {WORDS}


def test_ratios_are_medians_over_rounds_rather_than_of_rates() -> None:
    rounds = {
        ("semblance float32", "cosine", "new"): [10.0, 90.0, 20.0],
        (REFERENCE, "cross-encoder", "new"): [5.0, 9.0, 20.0],
    }
    [ratio] = ratios(rounds)
    assert ratio == {"system": "semblance float32", "method": "cosine", "documents": "new", REFERENCE: 2.0}
    assert [(each.per_s, each.least, each.most) for each in rates(rounds)] == [(20, 10, 90), (9, 5, 20)]

"""Read words of a query that a collection lacks as near or equal ones that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from semblance_client.vocabulary.search import SearchRequest

from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText
from semblance.models.tokenization.function_words import is_function_word
from semblance.models.tokenization.terms import Term, joined_otherwise, places, query_terms
from semblance.service.ports.documents import CutDocuments
from semblance.service.ports.indexes import IndexReader, WordInDocument
from semblance.service.replication.access import CollectionAccess
from semblance.service.usecases.search.params import SearchParams
from semblance.service.usecases.text_embedder import TextEmbedder


async def written_out(params: SearchParams, index: IndexReader, access: CollectionAccess) -> SearchParams:
    """The search with other queries where the collection lacks a phrase, but has an equal one.

    A model does not know the missing phrase, and its vectors of the words around it are others for that.
    """
    glossary = params.glossary

    def read(text: str) -> str:
        for phrase, start, end in reversed(list(glossary.find(text))):
            asked = [phrase, *glossary.equals(phrase)]
            own, *others = index.passages_with([glossary.phrases[each] for each in asked], params.where)
            if not own and any(others):
                text = text[:start] + glossary.written[asked[1 + others.index(max(others))]] + text[end:]
        return text

    if not glossary or not params.request.typos or not index.has_terms or params.mode == "lexical":
        return params
    texts = await access.search(lambda _: [read(query.text) for query in params.queries])
    return _read(params, [new if new != query.text else None for query, new in zip(params.queries, texts, strict=True)])


async def as_joined(params: SearchParams, index: IndexReader, access: CollectionAccess) -> SearchParams:
    """The search with other queries where documents have a code only joined otherwise."""

    def read(text: str) -> str:
        codes = [term for term in query_terms(text) if term.kind == "code"]
        for term in sorted(codes, key=lambda code: -code.start):
            forms = joined_otherwise(term.text)
            own, *others = index.passages_with([[each] for each in (term.text, *forms)], params.where)
            if not own and any(others):
                form = forms[others.index(max(others))]
                written = form.upper() if text[term.start : term.end].isupper() else form
                text = text[: term.start] + written + text[term.end :]
        return text

    if not params.request.typos or not index.has_terms or params.mode == "vector":
        return params
    texts = await access.search(lambda _: [read(query.text) for query in params.queries])
    return _read(params, [new if new != query.text else None for query, new in zip(params.queries, texts, strict=True)])


async def read_as(
    params: SearchParams, index: IndexReader, access: CollectionAccess, texts: TextEmbedder, encoder: Encoder
) -> SearchParams:
    """The search with other queries where words of its own have typos, or are to be completed.

    A word that is one token of the encoder stays: people wrote it so often that the model knows it. So do function
    words of other languages than the documents'.
    """
    request = params.request
    if params.mode == "vector" or not (request.typos or request.autocomplete):
        return params
    terms = [params.glossary.query_terms(query.text) for query in params.queries]
    found = await access.search(
        lambda _: [index.corrections(each, params.where, _prefix(each, request)) for each in terms]
    )
    if not any(found):
        return params
    tokens = await texts.tokenize(encoder, params.queries, "query")
    ids = list({word.document for words in found for word in words.values()})
    documents = await access.read(lambda store: store.get_cut(request.collection, ids))
    read: list[str | None] = []
    for text, own, words in zip(tokens, terms, found, strict=True):
        prefix = _prefix(own, request)
        typos = {term: word for term, word in words.items() if term == prefix or _is_typo(term, text, request)}
        kept = {term: _as_written(word, documents, text.text[term.start : term.end]) for term, word in typos.items()}
        read.append(_replaced(text.text, kept) if kept else None)
    return _read(params, read)


def _read(params: SearchParams, read: Sequence[str | None]) -> SearchParams:
    """The search with other queries; None leaves one as it is."""
    return replace(
        params,
        queries=[query._replace(text=new or query.text) for query, new in zip(params.queries, read, strict=True)],
        read_as=[new or before for before, new in zip(params.read_as, read, strict=True)],
    )


def _prefix(terms: Sequence[Term], request: SearchRequest) -> Term | None:
    """The word to be completed."""
    last = max(terms, key=lambda term: term.end, default=None)
    return last if request.autocomplete else None


def _is_typo(term: Term, text: TokenizedText, request: SearchRequest) -> bool:
    """Whether a word is neither a token of the encoder nor a function word of any language."""
    if not request.typos or is_function_word(text.text[term.start : term.end]):
        return False
    starts, ends = text.spans[~text.special].T
    inside = (starts < term.end) & (term.start < ends)
    return int(inside.sum()) != 1


def _as_written(word: WordInDocument, read: CutDocuments, typed: str) -> str:
    """A word as its document writes it most often, but in small letters if the query's word is.

    Its term has no accents, and a model may tell them from other letters.
    """
    text = read.searched(word.document).whole if word.document in read.documents else ""
    forms = Counter(text[start:end] for start, end in places(text, [Term(word.word, 0, 0)])[word.word])
    written = next((form for form, _ in forms.most_common(1)), word.word)
    return written.lower() if typed.islower() else written


def _replaced(text: str, words: Mapping[Term, str]) -> str:
    for term in sorted(words, key=lambda term: -term.start):
        text = text[: term.start] + words[term] + text[term.end :]
    return text

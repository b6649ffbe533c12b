"""Pairs and rankings drawn from links: small examples, and laws checked in plain Python."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semblance.models.files.tables import read_tsv
from semblance_lab.corpora.archive import read_tweets, tweet_files
from semblance_lab.corpora.links import link_tweets
from semblance_lab.corpora.rankings import TWEET_BENCHMARKS, Sizes
from semblance_lab.corpora.sets import TWEET_PAIRS, CorpusPlan, SetCounts, make_sets
from semblance_lab.corpora.tables import Tables
from semblance_lab.corpora.tweets import Tally, Tweet
from semblance_lab.evaluation.datasets.queries import read_rankings
from tests.support.random_tweets import write_archive

PLAN = CorpusPlan(TWEET_BENCHMARKS, TWEET_PAIRS, Sizes(queries=20))
UNRANKED = replace(PLAN, sizes=Sizes(queries=0))
SMALLEST = CorpusPlan(TWEET_BENCHMARKS[:1], TWEET_PAIRS, Sizes(queries=9, positives=1, negatives=1))


def draw_sets(
    tweets: Iterable[Tweet], out: Path, plan: CorpusPlan = PLAN, threads: int | None = None, memory_mb: int = 500
) -> SetCounts:
    scratch = out.with_name(f"{out.name}-scratch")
    scratch.mkdir(parents=True)
    with closing(Tables(scratch, memory_mb, threads)) as tables:
        link_tweets(tables, tweets)
        return make_sets(tables, plan, out)


def pairs(out: Path, name: str) -> list[tuple[str, str, str, str]]:
    rows = read_tsv(out / f"{name}.tsv", ("text_a", "text_b", "id_a", "id_b"))
    return [(row.text("text_a"), row.text("text_b"), row.text("id_a"), row.text("id_b")) for row in rows]


def rankings(out: Path, name: str) -> list[dict[str, Any]]:
    file = out / "ranking" / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


FIRST = Tweet("1", "the first tweet of a small world")
REPLY = Tweet("2", "a reply to the first tweet of all", reply_to="1")
AGAIN = Tweet("3", "a reply to the first tweet of all", reply_to="1")
SECOND = Tweet("4", "another reply to the first tweet", reply_to="1")
QUOTE = Tweet("7", "look what somebody said elsewhere", quoted=Tweet("20", "it was said elsewhere, not here"))
SHARED = Tweet("21", "many have quoted this one tweet")
LEFT = Tweet("8", "the left one of two who quote it", quoted=SHARED)


def test_rankings_of_a_small_hand_made_archive(tmp_path: Path) -> None:
    counts = draw_sets([QUOTE, LEFT, REPLY, FIRST], tmp_path / "out", SMALLEST)
    queries = {
        row["query_id"]: dict(zip(row["candidate_ids"], row["relevance"], strict=True))
        for row in rankings(tmp_path / "out", "dq")
    }
    assert queries == {"20": {"7": 1, "8": 0}, "21": {"8": 1, "7": 0}}
    assert counts.pairs == {"quotes": 0, "replies": 1, "co_quotes": 0, "co_replies": 0}
    assert not (tmp_path / "out" / "quotes.tsv").exists()
    assert [row[2:] for row in pairs(tmp_path / "out", "replies")] == [("1", "2")]


def test_benchmark_texts_are_held_out_under_any_id(tmp_path: Path) -> None:
    repeated = Tweet("30", LEFT.text, reply_to="31")
    counts = draw_sets(
        [QUOTE, LEFT, repeated, Tweet("31", "answered by what was said before")], tmp_path / "out", SMALLEST
    )
    assert counts.queries["dq"] == 2
    assert counts.links["replies"] == 1
    assert counts.pairs["replies"] == 0


def test_held_out_tweets_are_held_out_with_any_text(tmp_path: Path) -> None:
    """Tweet 20 is truncated where it is quoted, and complete where it is answered."""
    whole = Tweet("20", "it was said elsewhere, not here, in many more words")
    answer = Tweet("40", "an answer to what was said elsewhere", reply_to="20")
    free = Tweet("41", "an answer to what answers, far from it", reply_to="40")
    draw_sets([QUOTE, LEFT, whole, answer, free], tmp_path / "out", SMALLEST)
    assert [row[2:] for row in pairs(tmp_path / "out", "replies")] == [("40", "41")]
    answered = Tweet("50", "somebody asks a question of them all")
    counts = draw_sets([QUOTE, LEFT, answered, replace(whole, reply_to="50")], tmp_path / "other", SMALLEST)
    assert (counts.links["replies"], counts.pairs["replies"]) == (1, 0)


def test_longest_copy_of_a_tweet_is_used(tmp_path: Path) -> None:
    long = replace(SECOND, text="another reply to the first tweet, with an end")
    quoted = replace(QUOTE, quoted=Tweet("20", "it was said elsewhere, not here, with an end"))
    for name, order in (("out", [FIRST, SECOND, long, QUOTE, quoted]), ("other", [long, SECOND, FIRST, quoted, QUOTE])):
        draw_sets(order, tmp_path / name, UNRANKED)
        assert [row[1] for row in pairs(tmp_path / name, "replies")] == [long.text]
        assert [row[0] for row in pairs(tmp_path / name, "quotes")] == ["it was said elsewhere, not here, with an end"]


def test_repeated_texts_of_a_conversation_count_once(tmp_path: Path) -> None:
    """Three replies with two texts give a pair of siblings, but no query with two positives."""
    plan = replace(PLAN, sizes=Sizes(queries=9, positives=2, negatives=1))
    others = [Tweet(f"r{n}", f"one of three replies, number {n}", reply_to="o") for n in range(3)]
    world = [FIRST, REPLY, AGAIN, SECOND, Tweet("o", "another tweet that gets replies"), *others]
    draw_sets(world, tmp_path / "out", plan)
    queries = {row["query_id"]: row for row in rankings(tmp_path / "out", "dr")}
    assert set(queries) == {"1", "o"}
    graded = zip(queries["1"]["candidates"], queries["1"]["relevance"], strict=True)
    assert {text for text, grade in graded if grade} == {REPLY.text, SECOND.text}
    assert not (tmp_path / "out" / "ranking" / "cr.jsonl").exists()  # one conversation, and nothing to set beside it
    counts = draw_sets([FIRST, REPLY, AGAIN], tmp_path / "twins", plan)
    assert (counts.links["replies"], counts.pairs["replies"], counts.pairs["co_replies"]) == (2, 1, 0)


def test_tweets_with_the_same_text_give_one_query(tmp_path: Path) -> None:
    quoted = [Tweet(str(n), "the same words, sent by two robots") for n in range(2)]
    tweets = [Tweet(f"r{n}", f"quote number {n} of a robot's words", quoted=each) for n, each in enumerate(quoted)]
    counts = draw_sets([*tweets, QUOTE, LEFT], tmp_path / "out", SMALLEST)
    queries = [row["query"] for row in rankings(tmp_path / "out", "dq")]
    assert counts.queries["dq"] == len(queries) == len(set(queries)) == 3


def test_negatives_differ_from_all_texts_of_the_conversation(tmp_path: Path) -> None:
    """All conversations share two of their three quotes; only one is distinct."""
    tweets = []
    for n in range(60):
        quoted = Tweet(f"q{n}", f"quoted tweet number {n} of these sixty")
        texts = ("what everybody says of this one", "the other thing that all say", f"said only of number {n}")
        tweets += [Tweet(f"{n}-{i}", text, quoted=quoted) for i, text in enumerate(texts)]
    plan = replace(PLAN, benchmarks=TWEET_BENCHMARKS[:2], sizes=Sizes(queries=60, positives=1, negatives=3))
    draw_sets(tweets, tmp_path / "out", plan)
    for name in ("dq", "cq"):
        assert rankings(tmp_path / "out", name)
        for row in rankings(tmp_path / "out", name):
            own = row["query_id"].removeprefix("q").split("-")[0]
            for candidate, text, grade in zip(row["candidate_ids"], row["candidates"], row["relevance"], strict=True):
                assert (candidate.split("-")[0] == own) == bool(grade)
                assert grade or text.startswith("said only of")


class Links:
    """The links of an archive, computed in plain Python."""

    def __init__(self, tweets: Sequence[Tweet]) -> None:
        self.text: dict[str, str] = {}
        by_id: dict[str, Tweet] = {}
        for tweet in sorted(tweets, key=lambda tweet: (-len(tweet.text), tweet.text)):
            by_id.setdefault(tweet.id, tweet)
        quoted: dict[str, str] = {}
        for tweet in tweets:
            if tweet.quoted and len(tweet.quoted.text) > len(quoted.get(tweet.quoted.id, "")):
                quoted[tweet.quoted.id] = tweet.quoted.text
        self.text = quoted | {name: tweet.text for name, tweet in by_id.items()}
        self.of: dict[str, dict[str, str]] = {"quotes": {}, "replies": {}}  # b -> a
        for tweet in by_id.values():
            if tweet.quoted and quoted[tweet.quoted.id] != tweet.text:
                self.of["quotes"][tweet.id] = tweet.quoted.id
            if tweet.reply_to in by_id and self.text[tweet.reply_to] != tweet.text:
                self.of["replies"][tweet.id] = tweet.reply_to


@pytest.fixture(scope="module")
def tweets(tmp_path_factory: pytest.TempPathFactory) -> list[Tweet]:
    archive = write_archive(tmp_path_factory.mktemp("archive"), 6000, seed=3)
    return list(read_tweets(tweet_files(archive), Tally(), lambda _: None))


@pytest.fixture(scope="module")
def out(tweets: list[Tweet], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "out"
    counts = draw_sets(tweets, folder)
    assert all(counts.queries.values())
    assert all(count > 50 for count in counts.pairs.values())
    of = Links(tweets).of
    assert counts.links == {name: len(links) for name, links in of.items()}
    return folder


@pytest.mark.parametrize("name", ["dq", "cq", "dr", "cr"])
def test_rankings_have_five_positives_and_25_negatives(tweets: list[Tweet], out: Path, name: str) -> None:
    parent = Links(tweets).of["quotes" if name.endswith("q") else "replies"]
    rows = rankings(out, name)
    assert len({row["query"] for row in rows}) == len(rows) <= 20
    for row in rows:
        conversation = row["query_id"] if name.startswith("d") else parent[row["query_id"]]
        graded = list(zip(row["candidate_ids"], row["candidates"], row["relevance"], strict=True))
        assert [grade for *_, grade in sorted(graded, key=lambda each: -each[2])] == [1] * 5 + [0] * 25
        assert all((parent[tweet] == conversation) == bool(grade) for tweet, _, grade in graded)
        assert len({text for _, text, _ in graded} | {row["query"]}) == 31
        assert row["query_id"] not in row["candidate_ids"]
    read = read_rankings(out / "ranking" / f"{name}.jsonl")
    assert list(read.queries) == [row["query"] for row in rows]
    assert len({tuple(row["relevance"]) for row in rows}) > 1 or len(rows) == 1


@pytest.mark.parametrize("name", ["quotes", "replies", "co_quotes", "co_replies"])
def test_pairs_are_distinct_links_that_no_benchmark_uses(tweets: list[Tweet], out: Path, name: str) -> None:
    links = Links(tweets)
    parent = links.of[name.removeprefix("co_")]
    rows = pairs(out, name)
    assert max(Counter(row[0] for row in rows).values()) == 1
    assert max(Counter(row[1] for row in rows).values()) == 1
    shown = [row for each in ("dq", "cq", "dr", "cr") for row in rankings(out, each)]
    ids = {row["query_id"] for row in shown} | {each for row in shown for each in row["candidate_ids"]}
    texts = {row["query"] for row in shown} | {each for row in shown for each in row["candidates"]}
    for text_a, text_b, a, b in rows:
        assert text_a != text_b
        assert (text_a, text_b) == (links.text[a], links.text[b])
        assert parent[b] == (parent[a] if name.startswith("co_") else a)
        assert not {a, b} & ids
        assert not {text_a, text_b} & texts


def test_only_duplicates_and_held_out_links_are_left_out(tweets: list[Tweet], tmp_path: Path) -> None:
    draw_sets(tweets, tmp_path / "all", UNRANKED)
    assert not any((tmp_path / "all" / "ranking").iterdir())
    links = Links(tweets)
    for relation, parent in links.of.items():
        texts_of: defaultdict[str, set[str]] = defaultdict(set)
        for b, a in parent.items():
            texts_of[a].add(links.text[b])
        how_often = Counter(text for texts in texts_of.values() for text in texts)
        anchors = Counter(links.text[a] for a in texts_of)
        once = {a for a, texts in texts_of.items() if all(how_often[text] == 1 for text in texts)}
        alone = {a for a in once if anchors[links.text[a]] == 1}
        assert len(alone) > 100
        assert {row[2] for row in pairs(tmp_path / "all", relation)} >= alone
        siblings = {parent[row[2]] for row in pairs(tmp_path / "all", f"co_{relation}")}
        assert siblings <= {a for a, texts in texts_of.items() if len(texts) > 1}
        assert siblings >= {a for a in alone if len(texts_of[a]) > 1}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.slow
def test_sets_depend_on_the_seed_only(tweets: list[Tweet], out: Path, tmp_path: Path) -> None:
    draw_sets(tweets[::-1], tmp_path / "same", threads=1, memory_mb=100)
    assert everything(tmp_path / "same") == everything(out)
    draw_sets(tweets, tmp_path / "other", replace(PLAN, seed=PLAN.seed + 1))
    assert everything(tmp_path / "other").keys() == everything(out).keys()
    assert all(everything(tmp_path / "other")[name] != content for name, content in everything(out).items())


def test_limited_sets_have_the_first_pairs_of_larger_ones(tweets: list[Tweet], out: Path, tmp_path: Path) -> None:
    counts = draw_sets(tweets, tmp_path / "few", replace(PLAN, pairs=10))
    assert counts.pairs == dict.fromkeys(("quotes", "replies", "co_quotes", "co_replies"), 10)
    assert pairs(tmp_path / "few", "quotes") == pairs(out, "quotes")[:10]

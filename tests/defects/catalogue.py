"""Thirty small defects that the tests must notice: about one for each package.

They show what the tests are worth: `scripts/defects` applies each to a copy of the project. Where a redesign moves or
rewrites a place, give the same mistake there, not an easier one.
"""

from __future__ import annotations

from tests.defects.defect import Defect

DEFECTS = (
    Defect(
        "threads: a rejected tweet does not join its thread",
        "semblance_lab.corpora.links.link_threads",
        """\
            joined.append((tweets[0].id, tweets[1].id))  # a rejected tweet still joins its thread
            for tweet in tweets:
                texts.setdefault(tweet.id, cleaned_text(tweet))
""",
        """\
            for tweet in tweets:
                texts.setdefault(tweet.id, cleaned_text(tweet))
            joined.append((tweets[0].id, tweets[1].id))
""",
        ("tests/lab/corpora/test_threads.py",),
    ),
    Defect(
        "pooling: the last token of a prompt enters the mean",
        "semblance.models.encoders.transformer.Transformer._own_tokens",
        "own[: int(np.argmin(text.special))]",
        "own[: int(np.argmin(text.special)) - 1]",
        ("tests/models/model_files/test_checkpoint.py", "-k", "prompt"),
    ),
    Defect(
        "nDCG@k: the ideal ranking is not cut at rank k",
        "semblance_lab.evaluation.statistics.ndcg",
        "reverse=True)[:k])",
        "reverse=True))",
        ("tests/lab/evaluation/test_ranking.py",),
    ),
    Defect(
        "atomic files: a single file is not flushed before it gets its name",
        "semblance.models.files.atomic.publish",
        "if temporary.is_dir() else [temporary]:",
        "if temporary.is_dir() else []:",
        ("tests/service/indexes/test_snapshots.py", "-k", "crash and exact"),
    ),
    Defect(
        "words' plan: the mass is divided among special tokens, too",
        "semblance.models.alignment.transport.row_plan",
        "mass / mass.sum(dtype=np.float64)",
        "mass / n",
        ("tests/models/alignment/test_transport.py",),
    ),
    Defect(
        "adapter: the digest of its weights is not compared",
        "semblance.models.model_files.lora.read_low_rank_adapter",
        "if weights_sha256 is not None and file_sha256(weights) != weights_sha256:",
        "if weights_sha256 is not None and not file_sha256(weights):",
        ("tests/models/model_files/test_lora.py", "-k", "altered"),
    ),
    Defect(
        "networks: positions run on from one text of a batch to the next",
        "semblance.models.networks.shape_buckets.graph_inputs",
        "positions[:count] += places[:count] % width",
        "positions[:count] += np.arange(count) % width",
        ("semblance/models/networks/shape_buckets.py",),
    ),
    Defect(
        "harvest: near sentences may come from the anchor's own document",
        "semblance_lab.origin.harvest.sampling.BundleSampler._near",
        "if candidates and self._corpus.document[first] != self._corpus.document[anchor]:",
        "if candidates and first != anchor:",
        ("tests/lab/origin/harvest/test_sampling.py",),
    ),
    Defect(
        "cores: a quota of 1.2 cores is rounded down",
        "semblance.models.processor.usable_cores.usable_cores",
        "math.ceil(quota)",
        "math.floor(quota)",
        ("tests/models/processor/test_usable_cores.py",),
    ),
    Defect(
        "common component: texts are centered before it is found",
        "semblance.models.projections.common_component_removal.CommonComponentRemoval.fit",
        "np.linalg.eigh(vectors.T @ vectors)",
        "np.linalg.eigh(np.cov(vectors.T))",
        ("tests/models/adaptation", "-k", "common_component"),
    ),
    Defect(
        "BERTScore: special tokens enter the explained mean of one side",
        "semblance.models.measures.bertscore_f1.BertscoreF1.explain",
        "column_plan(cosines, own_tokens(b))",
        "column_plan(cosines)",
        ("tests/models/measures/test_bertscore_f1.py",),
    ),
    Defect(
        "passages: an overlap is not counted, so that passages get too long",
        "semblance.models.tokenization.passages._packs",
        "total = sum(each.tokens for each in pack)",
        "total = 0",
        ("tests/models/tokenization/test_passages.py",),
    ),
    Defect(
        "loss of RCMD: padding of the left text can be a best match",
        "semblance_lab.training.losses.pairwise_rcmd._masked_cosines",
        "cosines.masked_fill_(~x_mask[:, :, None, None], -torch.inf)",
        "cosines.masked_fill_(~x_mask[:, :, None, None], 0.0)",
        ("tests/lab/training/losses/test_pairwise_rcmd.py",),
    ),
    Defect(
        "in-batch loss: the first hard negative is taken for the positive",
        "semblance_lab.training.objectives.multiple_negatives_ranking.MultipleNegativesRanking.__call__",
        "for candidates in (positive, *negatives)",
        "for candidates in (*negatives, positive)",
        ("tests/lab/training/test_objectives.py",),
    ),
    Defect(
        "keys: none is asked for where only reading is open",
        "semblance.service.api.edge.keys.Guard.needs_key",
        'return not (method in ("GET", "HEAD") and is_open)',
        "return not is_open",
        ("tests/service/api/edge/test_keys.py",),
    ),
    Defect(
        "fair queue: a text is due by its own length, not that of its request",
        "semblance.service.batching.queue.Queue.put",
        "due_time(request.submitted, end, bulk=request.bulk)",
        "due_time(request.submitted, len(text), bulk=request.bulk)",
        ("tests/service/batching/test_worker.py", "-k", "overtake"),
    ),
    Defect(
        "cache: the record of another key is taken",
        "semblance.service.caches.record.unpack",
        "if digest != _digest(key):",
        "if len(digest) != len(_digest(key)):",
        ("tests/service/caches/test_record.py",),
    ),
    Defect(
        "changes: the rest of a version is skipped at the end of a page",
        "semblance.service.documents.changes._after",
        "later = or_(documents.c.version > cursor.version, same_version)",
        "later = documents.c.version > cursor.version",
        ("tests/contracts/test_document_stores.py", "-k", "sqlite and versions"),
    ),
    Defect(
        "copies: the commits of a page are not recorded",
        "semblance.service.documents.copies.advance",
        "history.record(connection, name, commits)",
        "history.record(connection, name, commits[:-1])",
        ("tests/contracts/test_copies.py", "-k", "sqlite"),
    ),
    Defect(
        "documents: a scan shows deleted ones",
        "semblance.service.documents.sql.SqlDocumentStore.scan",
        "documents.c.id > after, ~documents.c.deleted)",
        "documents.c.id > after)",
        ("tests/contracts/test_document_stores.py", "-k", "sqlite and scan"),
    ),
    Defect(
        "BM25: removed rows count for the rarity of a term",
        "semblance.service.indexes.terms.bm25.Bm25._look_up",
        "(self._live_rows - len(rows) + 0.5)",
        "(len(self) - len(rows) + 0.5)",
        ("tests/service/indexes/terms/test_bm25.py",),
    ),
    Defect(
        "index: a writer does not wait for searches under way",
        "semblance.service.indexes.shared_lock.SharedLock.writing",
        "not self._writing and not self._reading",
        "not self._writing",
        ("tests/service/indexes/test_shared_lock.py",),
    ),
    Defect(
        "snapshots: one ahead of its restored store is used",
        "semblance.service.indexes.snapshots._require_fit",
        "version.epoch != collection.version.epoch or version.number > collection.version.number",
        "version.epoch != collection.version.epoch",
        ("tests/service/indexes/test_snapshots.py", "-k", "state and exact"),
    ),
    Defect(
        "calibrations: one of another version of a model is used",
        "semblance.service.model_loading.calibrations.read_calibrations",
        "if content.space in spaces:",
        "if spaces:",
        ("tests/service/model_loading/test_calibrations.py",),
    ),
    Defect(
        "pages: texts in templates are not escaped",
        "semblance.service.rendering.html.page._markup",
        "else escaped(str(value))",
        "else Markup(legal(str(value)))",
        ("tests/service/rendering/test_rendering.py",),
    ),
    Defect(
        "limits of keys: a write may replace a hidden document",
        "semblance.service.replication.limited_views.LimitedWriter.upsert",
        "require_own if self._permission.limits_documents else require",
        "require",
        ("tests/service/replication/test_limited_access.py", "-k", "race"),
    ),
    Defect(
        "stateless replica: an outdated entry of the index is a hit",
        "semblance.service.replication.stateless.remote_view.RemoteView._is_current",
        "state.version != candidate.version or ",
        "",
        ("tests/service/replication/stateless/test_stateless_replica.py", "-k", "stale"),
    ),
    Defect(
        "cache: the key does not say how texts are truncated",
        "semblance.service.usecases.text_embedder._Reading.key",
        "{self.want}:{self.role}:{kept}{self.max_tokens or ''}:",
        "{self.want}:{self.role}:",
        ("tests/service/usecases/test_embed.py",),
    ),
    Defect(
        "client: a resumed upload sends the last stored line again",
        "semblance_client.calls.upload.Upload._store",
        "acknowledged = batch.through_line - first + 1",
        "acknowledged = batch.through_line - first",
        ("tests/clients/python/test_upload.py", "-k", "acknowledged"),
    ),
    Defect(
        "client: an overloaded service is not asked again for a change",
        "semblance_client.steps.Call.steps",
        "if not (error.nothing_done or (error.transient and self.repeatable)):",
        "if not (error.transient and self.repeatable):",
        ("tests/clients/python/test_retries.py", "-k", "has_not_happened"),
    ),
)

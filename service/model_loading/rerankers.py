"""Rerankers of a process, each loaded on first use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from semblance.models.model_files.cross_encoder import CrossEncoderFiles
from semblance.models.protocols import Reranker
from semblance.service.errors import ModelUnavailable, UnknownModel
from semblance.service.model_loading.lazy_loads import LazyLoads
from semblance.service.ports.embedding import ModelChoice


class LazyRerankers:
    """Load rerankers on first use, in a thread; callers wait for a load up to a limit.

    Args:
        files: by name.
        loads: the loads of these rerankers.
        aliases: further names of models of any kind.
        refused: name -> why the files of a model are refused.
    """

    def __init__(
        self,
        files: Mapping[str, CrossEncoderFiles],
        loads: LazyLoads[Reranker],
        aliases: Mapping[str, ModelChoice] = MappingProxyType({}),
        refused: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.files = files
        self._refused = refused
        self._aliases = {alias: choice.model for alias, choice in aliases.items() if choice.model in files}
        self._loads = loads

    @property
    def names(self) -> list[str]:
        """Names of the rerankers, then their aliases."""
        return [*self.files, *self._aliases]

    async def get(self, name: str) -> Reranker:
        """The reranker of that name or alias.

        Raises:
            UnknownModel: no such reranker is served.
            ModelLoading, ModelUnavailable: as `LazyLoads.get`.
        """
        model = self._aliases.get(name) or name
        if model in self._refused:
            raise ModelUnavailable(f"model {model!r} is not served: {self._refused[model]}")
        if model not in self.files:
            remedy = f"choose one of {', '.join(self.names)}" if self.files else "SEMBLANCE_RERANK_MODELS names them"
            raise UnknownModel(f"no rerank model {name!r} is served: {remedy}")
        return await self._loads.get(model)

    def refused(self) -> dict[str, str]:
        """Name -> why a reranker was refused when it was loaded."""
        return self._loads.refused()

    def loaded(self) -> dict[str, Reranker]:
        """Rerankers in memory, by name."""
        return self._loads.loaded()


NO_RERANKERS = LazyRerankers({}, LazyLoads(dict[str, Reranker]().__getitem__, 0.0))

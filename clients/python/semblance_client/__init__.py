"""Client of Semblance: similarity and search that show which words made the score.

`Client` and `AsyncClient` have the same methods; every rejected request raises a `SemblanceError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semblance_client.names import *  # noqa: F403 - those of __all__
else:

    def __getattr__(name: str) -> Any:
        """A name of the package; all are imported with the first, as the service needs none."""
        names = import_module("semblance_client.names")
        if name in globals():  # a module, which its import made an attribute
            return globals()[name]
        try:
            return getattr(names, name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        return [*globals(), *import_module("semblance_client.names").__all__]

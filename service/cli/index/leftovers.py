"""Documents of files that have left their folder."""

from __future__ import annotations

from pathlib import Path

from semblance_client import Client

from semblance.service.files.folder import PageFolder

SHOWN = 5  # ids


def leftovers(client: Client, collection: str, path: Path, folder: PageFolder) -> str:
    """Line about stored documents that name a file which the folder lacks; empty without any.

    They are only named: those of another folder in the same collection look alike.
    """
    ids = [
        each.id
        for each in client.all_documents(collection, filter={"file": {"exists": True}})
        if each.metadata["file"] not in folder.names and each.id.startswith(str(each.metadata["file"]))
    ]
    if not ids:
        return ""
    more = f" and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else ""
    return (
        f"{path}: no longer has the files of stored documents: {len(ids):,} ({', '.join(ids[:SHOWN])}{more}); if they "
        f"are of this folder, `semblance delete {collection} ID ...` deletes them"
    )

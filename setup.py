"""Build of the wheel: as pyproject.toml says, with the documentation, which GET /help serves."""

from pathlib import Path
from shutil import copyfile

from setuptools import setup
from setuptools.command.build_py import build_py

PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/**/*.md",
    "docs/images/*",
    "docs/notebooks/*",
    "clients/*/README.md",
)


class BuildWithHelp(build_py):
    """Copies the pages and pictures of the documentation into the package."""

    def run(self) -> None:
        """Copy after the modules."""
        super().run()
        target = Path(self.build_lib) / "semblance" / "service" / "help"
        for pattern in PAGES:
            for file in Path().glob(pattern):
                copy = target / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                copyfile(file, copy)


setup(cmdclass={"build_py": BuildWithHelp})

"""Build of the wheel of data, which is refused while the data are missing."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithData(build_py):
    """Refuses to make a package without the data that every installation needs."""

    def run(self) -> None:
        """Look before the copy. Raises SystemExit."""
        if missing := [name for name in ("model", "fonts") if not Path("semblance_assets", name).is_dir()]:
            raise SystemExit(f"semblance_assets/{missing[0]} is missing: first run `python assets/fetch.py`")
        super().run()


setup(cmdclass={"build_py": BuildWithData})

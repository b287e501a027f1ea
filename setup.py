"""Everything that the program reads besides its modules goes into the wheel (toolnoise.base.program finds it there)."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CARRIED = (
    *("CITATION.cff", "LICENSE", "Snakefile", "config.yaml", "environment.yml"),
    *(
        "notebooks/*.ipynb",
        "requirements/*.txt",
        "requirements/machines/*.txt",
        "requirements/versions/*.txt",
        "resources/**/*",
    ),
    *(
        "workflow/Snakefile",
        "workflow/for-conda/*.py",
        "workflow/profiles/**/*.yaml",
        "profiles/default/*.yaml",
        "workflow/report/*",
        "workflow/rules/*",
    ),
    *("workflow/schemas/*", "workflow/studies/*"),
)


class Carrying(build_py):
    """Builds the package with these files in its folder `carried`, in the repository's order."""

    def run(self) -> None:
        """Build; an editable package finds the files where they are."""
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib, "toolnoise/carried")
        # An earlier build may have left files there that are no longer carried.
        shutil.rmtree(folder, ignore_errors=True)
        for name in _names():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(name, folder / name)

    def get_source_files(self) -> list[str]:
        """The files of a source distribution."""
        return [*super().get_source_files(), *_names()]


def _names() -> list[str]:
    return sorted(str(path) for pattern in CARRIED for path in Path().glob(pattern) if path.is_file())


setup(cmdclass={"build_py": Carrying})

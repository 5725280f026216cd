"""manifest.json: size and checksum of every file of a run that has ended, so that a damaged one is known and named.

A run's status in run.json says whether it has ended. The manifest is on the disk before run.json says so, and lists
the run.json that will. A crash never leaves an ended run without its manifest, so a missing manifest is damage.
"""

import json
import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fathom.columns.schema import TABLES
from fathom.runs.checksums import FileSum, fault_of, is_sound, signed
from fathom.runs.damage import Fault
from fathom.runs.files import text_of, write_json
from fathom.runs.layout import JOURNAL, MANIFEST, RUN, STEP, STEPS, step_folders
from fathom.runs.steps import has_sums


class Manifest(BaseModel):
    """The whole of manifest.json. `files` are relative to the run; a step is listed by its step.json."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    format: Literal["fathom-manifest/1"] = Field(default="fathom-manifest/1", alias="schema")
    of: str = Field(description="id of the run")
    files: dict[str, FileSum]
    sha256: str = Field(default="", description="checksum of the other keys")

    @classmethod
    def of_run(cls, run: Path, run_id: str, run_json: str) -> "Manifest":
        """Returns the manifest of a run as it is, but with that text as its run.json."""
        names = [
            *(
                name
                for name in (JOURNAL, *(f"{table}.parquet" for table in TABLES))
                if (run / name).is_file()
            ),
            *sorted(str(path.relative_to(run)) for path in (run / STEPS).glob("*.jsonl")),
        ]
        for folder in step_folders(run):
            own = [folder / STEP] if has_sums(folder) else sorted(folder.iterdir())
            names += [str(path.relative_to(run)) for path in own]
        sums = {RUN: FileSum.of_text(run_json)} | {name: FileSum.of(run / name) for name in names}
        return cls(of=run_id, files=sums)

    def save(self, run: Path, *, durable: bool = True) -> None:
        """Replaces manifest.json atomically; waits for the disk if `durable`."""
        write_json(run / MANIFEST, signed(self.model_dump(by_alias=True, mode="json")), durable=durable)

    @classmethod
    def load(cls, run: Path) -> "Manifest | Fault":
        """Reads manifest.json, or returns why it cannot be trusted."""
        try:
            text = text_of(run / MANIFEST)
            document = json.loads(text)
            if not isinstance(document, dict) or not is_sound(document):
                return Fault.CHANGED
            return cls.model_validate(document)
        except FileNotFoundError:
            return Fault.MISSING
        except OSError:
            return Fault.UNREADABLE
        except (ValueError, RecursionError):
            return Fault.CHANGED

    def fault(self, run: Path, name: str) -> Fault | None:
        """Returns what is wrong with a file of the run; None where it is as it was written."""
        listed = self.files.get(name)
        return None if listed is None and not (run / name).exists() else fault_of(run / name, listed)


def leave_out_steps(run: Path, run_id: str) -> None:
    """Removes the folders of the steps of a run that has ended; its own tables have all that is in them."""
    shutil.rmtree(run / STEPS)
    Manifest.of_run(run, run_id, text_of(run / RUN)).save(run)

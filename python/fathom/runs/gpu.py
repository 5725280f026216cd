"""The GPU in whose memory the reads of a run ended, as the journal's event `setup` has it."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, PositiveFloat, ValidationError

from fathom import _core


class Gpu(BaseModel):
    """A GPU that reads were copied to."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    name: str
    link: str | None = None
    """Speed of its link to the host, such as `32.0 GT/s x16`; None where the kernel does not report it."""
    copy_bytes_per_s: PositiveFloat
    """What copies to it reach with nothing beside them."""

    @property
    def label(self) -> str:
        """Its name with its link."""
        return f"{self.name}, PCIe {self.link}" if self.link else self.name


def gpu_of(recording: _core.Recording) -> Gpu | None:
    """Returns the GPU of a step, None where reads ended in the host's memory."""
    gpu = recording.gpu
    return Gpu(name=gpu.name, link=gpu.link, copy_bytes_per_s=gpu.copy_bytes_per_s) if gpu else None


def gpu_in(event: Mapping[str, object]) -> Gpu | None:
    """Returns the GPU of an event `setup`; None where it has none, as those of earlier versions."""
    try:
        return Gpu.model_validate(event.get("gpu"))
    except ValidationError:
        return None

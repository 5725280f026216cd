"""The image: it builds from the wheel on a plain Debian base, and measures a twin and a file without rights."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).parents[2]
BASE, IMAGE = "localhost/fathom-base", "localhost/fathom-test"
MISSING = [one for one in ("buildah", "debootstrap") if shutil.which(one) is None]
METHOD = """
schema = "fathom-method/1"
name = "mixed"
[[steps]]
name = "mixed"
[steps.job]
mix = { read = 50, write = 50 }
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 8 }
until = { time = "1s" }
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a base image is made as root"),
]


def run(*words: str | Path, timeout_s: int = 600) -> str:
    environment = os.environ | {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
    done = subprocess.run(
        words, cwd=TREE, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout.strip()


def of_this_machine() -> list[str]:
    """How this machine's pip finds packages, for the build."""
    options = [f"--env={name}={value}" for name, value in os.environ.items() if name.startswith("PIP_")]
    places = ["/etc/pip.conf", "/etc/ssl/certs", os.environ.get("PIP_FIND_LINKS", "")]
    return options + [f"--volume={one}:{one}:ro" for one in places if one and Path(one).exists()]


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A container of the image; images and containers are removed at the end."""
    root = tmp_path_factory.mktemp("base") / "root"
    mirror = run("apt-get", "indextargets", "--format", "$(SITE)").splitlines()[0]
    packages = "--include=python3,python3-venv,ca-certificates"
    run("debootstrap", "--variant=minbase", packages, "bookworm", root, mirror)
    run("make", "--silent", "wheel", timeout_s=1800)
    scratch = run("buildah", "from", "scratch")
    try:
        run("buildah", "add", "--quiet", scratch, root, "/")
        run("buildah", "commit", "--quiet", scratch, BASE)
        options = ["--pull-never", f"--build-arg=PYTHON={BASE}", *of_this_machine(), "--tag", IMAGE]
        run("buildah", "bud", *options, "--file", "Containerfile", ".")
        own = run("buildah", "from", "--pull-never", IMAGE)
        yield own
        run("buildah", "rm", own)
    finally:
        run("buildah", "rm", scratch)
        for image in (IMAGE, BASE):
            subprocess.run(["buildah", "rmi", image], env=os.environ | {"STORAGE_DRIVER": "vfs"}, check=False)


def test_a_user_without_rights_measures_a_twin_in_it(container: str) -> None:
    assert run("buildah", "run", container, "--", "id", "--user") == "1000"
    said = run(
        "buildah",
        "run",
        container,
        "--",
        "fathom",
        "run",
        "four-corners",
        "twin:samsung-pm9a3-7.68tb",
        "--quick",
    )
    assert "4 KiB random read" in said
    assert "/runs/" in said


def test_it_measures_a_file_even_where_sysfs_is_hidden(container: str) -> None:
    script = f"cat > m.toml <<'END'\n{METHOD}END\nfathom run ./m.toml file:x.bin --size 16MiB"
    assert "file on" in run("buildah", "run", container, "--", "sh", "-c", script)

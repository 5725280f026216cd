"""What Fathom is built from: `audit` looks for known faults, licences and sources, `sbom` writes the lists.

Run by `make audit` and `make sbom`, which bring pip-audit and cyclonedx-bom. A database that cannot be asked is said
and is no failure; a fault that is found is one.
"""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from boolean.boolean import OR, Expression
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from license_expression import get_spdx_licensing
from packageurl import PackageURL

ROOT = Path(__file__).parent.parent
# `requirements-run.lock` holds a part of these packages in the same versions (`make lock`).
LOCK = ROOT / "requirements.lock"
SBOM = ROOT / "target" / "sbom"
SHA256_DIGITS = 64


def audit() -> int:
    """Returns 1 where something was found."""
    found = [*rust_findings(), *rust_advisories(), *python_advisories()]
    for text in found:
        print(f"audit: {text}", file=sys.stderr)
    return 1 if found else 0


def rust_findings() -> list[str]:
    """Crates of a licence or a source that deny.toml does not allow."""
    policy = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed, sources = set(policy["licenses"]["allow"]), policy["sources"]["allow-registry"]
    crates = packages()
    found = []
    for crate in crates:
        name = f"{crate['name']} {crate['version']}"
        if not allows(crate["license"], allowed):
            found.append(f"{name}: licence {crate['license']} is not in deny.toml")
        if crate["source"].removeprefix("registry+") not in sources:
            found.append(f"{name}: comes from {crate['source']}, which is not in deny.toml")
    print(f"audit: licences and sources of {len(crates)} crates looked at")
    return found


def rust_advisories() -> list[str]:
    """Returns what RustSec knows of the crates, where cargo-deny is installed and gets its database."""
    if shutil.which("cargo-deny") is None:
        print(
            "audit: advisories on crates NOT looked up: cargo-deny is not installed (cargo install cargo-deny)"
        )
        return []
    done = subprocess.run(
        ["cargo", "deny", "--all-features", "check", "advisories"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "failed to fetch" in done.stderr or "failed to load advisory" in done.stderr:
        print("audit: advisories on crates NOT looked up: their database cannot be fetched here")
        return []
    print("audit: advisories on crates looked up")
    return [] if done.returncode == 0 else [done.stderr.strip()]


def python_advisories() -> list[str]:
    """Returns what the package index knows of the locked Python packages."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(LOCK),
        "--disable-pip",
        "--format",
        "json",
    ]
    done = subprocess.run(
        [*command, "--progress-spinner", "off"], capture_output=True, text=True, check=False
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"audit: advisories on Python packages NOT looked up: {last}")
        return []
    asked = [package for package in packages if "skip_reason" not in package]
    print(f"audit: advisories on {len(asked)} of {len(packages)} Python packages looked up")
    if len(asked) < len(packages):
        print(f"audit: {len(packages) - len(asked)} NOT: the index gives no advisories for them")
    return [
        f"{package['name']} {package['version']}: {fault['id']}, mended in {', '.join(fault['fix_versions']) or 'none'}"
        for package in asked
        for fault in package["vulns"]
    ]


def allows(licence: str | None, allowed: set[str]) -> bool:
    """Returns whether the licence expression can be met by those that are allowed."""
    if licence is None:
        return False
    licensing = get_spdx_licensing()
    # `/` between two licences is how crates wrote OR before SPDX.
    return _met(licensing.parse(licence.replace("/", " OR ")), allowed)


def _met(expression: Expression, allowed: set[str]) -> bool:
    if not expression.args:
        return expression.render() in allowed
    each = [_met(part, allowed) for part in expression.args]
    return any(each) if isinstance(expression, OR) else all(each)


def packages() -> list[dict[str, Any]]:
    """Returns the crates of others that are built in, as cargo has them."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [package for package in json.loads(text)["packages"] if package["source"]]


def sbom() -> int:
    """Writes one list for the crates and one for the Python packages, as CycloneDX."""
    SBOM.mkdir(parents=True, exist_ok=True)
    python = SBOM / "python.cdx.json"
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", "--output-reproducible", "--of", "JSON"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "-o", str(python), str(LOCK)]
    subprocess.run(command, check=True, capture_output=True)
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum", "") for one in locked}
    bom = Bom(components=[_component(one, checksums[one["name"], one["version"]]) for one in packages()])
    rust = SBOM / "rust.cdx.json"
    rust.write_text(JsonV1Dot6(bom).output_as_string(indent=1))
    for path in (python, rust):
        print(f"{path.relative_to(ROOT)}: {len(json.loads(path.read_text())['components'])} components")
    return 0


def _component(package: dict[str, Any], checksum: str) -> Component:
    name, version = package["name"], package["version"]
    licence = package["license"]
    return Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=version,
        purl=PackageURL("cargo", None, name, version),
        bom_ref=f"{name}@{version}",
        licenses=[LicenseExpression(licence.replace("/", " OR "))] if licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)]
        if len(checksum) == SHA256_DIGITS
        else [],
    )


if __name__ == "__main__":
    sys.exit({"audit": audit, "sbom": sbom}[sys.argv[1]]())

"""What can be tested: targets and their identity, discovery, safety, the machine around them, telemetry.

docs/reference/safety.md says what is refused and why.
"""

from fathom.targets.claim import check_target, claim, recheck
from fathom.targets.discover import DeviceReport, devices_json, discover, print_devices
from fathom.targets.environment import Environment, environment, versions
from fathom.targets.files import remove_file, scratch_file
from fathom.targets.parse import TwinFacts, TwinLookup, parse_target, parse_targets
from fathom.targets.safety import (
    ExclusiveHold,
    Refusal,
    authorise_destroy,
    check_device,
    destroy_token,
    ensure_same,
    recheck_identity,
)
from fathom.targets.target import Identity, Kind, Target
from fathom.targets.telemetry import Telemetry, TelemetryRow, foreign_share

__all__ = [
    "DeviceReport",
    "Environment",
    "ExclusiveHold",
    "Identity",
    "Kind",
    "Refusal",
    "Target",
    "Telemetry",
    "TelemetryRow",
    "TwinFacts",
    "TwinLookup",
    "authorise_destroy",
    "check_device",
    "check_target",
    "claim",
    "destroy_token",
    "devices_json",
    "discover",
    "ensure_same",
    "environment",
    "foreign_share",
    "parse_target",
    "parse_targets",
    "print_devices",
    "recheck",
    "recheck_identity",
    "remove_file",
    "scratch_file",
    "versions",
]

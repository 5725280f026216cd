"""A user's device, bench and published results: valid, and small enough to break one key at a time."""

from collections.abc import Callable
from pathlib import Path

Write = Callable[[str, str], Path]

DEVICE = """\
schema = "fathom-device/1"
name = "acme-one-7.68tb"
published = "wd-ultrastar-dc-sn861"
capacity_bytes = 7681501126656

[identity]
vendor = "Acme"
model = "One"
label = "Acme One 7.68TB"
interface = "PCIe Gen5 x4"

[twin]
kind = "ssd"
bench = "acme-bench"

[twin.parameters.channels]
value = 16
basis = "published"
source = "controller brief"

[twin.parameters.read_sense_us]
value = 56.5
basis = "calibrated"
source = "fio-4k-rand-read"

[twin.parameters.program_suspend]
value = true
basis = "assumed"
source = "usual for the class"
"""

BENCH = """\
schema = "fathom-system/1"
name = "acme-bench"
kind = "bench"
label = "Acme bench"
source = "a test"

[parameters.cores]
value = 32
basis = "published"
source = "the review"
"""

PUBLISHED = """\
schema = "fathom-published/1"
name = "acme-one"

[identity]
vendor = "Acme"
model = "One"
kind = "ssd"
source = "data sheet"

[[spec]]
source = "data sheet"
seq_read_mbps = 13700
rows = [
  { capacity_gb = 3840, rand_read_iops = 2100000 },
  { capacity_gb = 7680, rand_read_iops = 3300000, uncertain = true, note = "a listing" },
]

[[published]]
bench = "acme-bench"
subject = "One 7.68TB"
capacity_gb = 7680
source = "a review"
rows = [
  { workload = "fio-4k-rand-read", role = "calibration", iops = 2108065 },
  { workload = "fio-4k-rand-write", role = "validation", iops = 473658, bench = "other-bench" },
]
"""

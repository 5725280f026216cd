"""Names of telemetry rows that rules of validity and reports look for."""

CPU_QUOTA = "cpu_quota_used_up"
NIC_BUSY = "nic_busy: "
JOULES = "joules"
SENSOR_JOULES = "sensor_joules"
"""What a drive's own power sensor says, where a power meter gives the figure."""

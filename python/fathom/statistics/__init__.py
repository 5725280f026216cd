"""Statistics of rates, latencies and steady state. Knows no run, no target and no method."""

"""Many hosts as one load generator: an agent on each, a coordinator that starts them together and adds them up.

`hosts` reads who they are. `process` starts and asks one of them through a shell, `serve` answers there by the `agent`,
and `wire` is what both may say. `clocks` compares the hosts' clocks, `load` is a running step on all of them, `fleet`
ties these to the session. `ray_cluster` has hosts of a cluster of somebody else's. Nothing here is imported unless a
run asks for hosts.
"""

"""Many hosts as one load generator: an agent on each, a coordinator that starts them together and adds them up.

`hosts` brings Ray's nodes up, `agent` is what runs on a host, `clocks` compares the hosts' clocks, `load` is a running
step on all of them, `fleet` ties these to the session. Nothing here is imported unless a run asks for hosts.
"""

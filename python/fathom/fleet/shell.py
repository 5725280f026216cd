"""The program that reaches the hosts of a fleet."""

SSH = "ssh"
"""The one that is taken unless the user names another."""

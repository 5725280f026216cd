"""What the command line says of the hosts of a fleet: the program that reaches them, and how many one machine plays."""

SSH = "ssh"
"""The one that is taken unless the user names another."""

MOST_LOCAL_HOSTS = 64
"""Most processes of one machine that play hosts."""

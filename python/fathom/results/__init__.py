"""Results of other load generators as runs, and runs as the results of others. Loads nothing, touches no target."""

"""What will run, from the words a user types: targets, steps, bytes written, wear, time. Loads nothing."""

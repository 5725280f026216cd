"""Fathom measures storage as the best public tests do, explains the result, and predicts what you do not own."""

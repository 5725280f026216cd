"""Which drive a recorded load needs: it is replayed on twins, which are ranked by what they make of it."""

"""Makes a drive of the catalogue from its data sheet: reads, checks, fills in, fits to the ratings, writes."""

"""Runs that a team shares: tables in DuckLake, its catalogue in PostgreSQL or a file, its data in a folder or on S3."""

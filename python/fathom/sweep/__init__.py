"""What if: one method on twins, once for every combination of values of their parameters or of keys of its jobs.

`grid` makes the combinations, `study` simulates them and keeps the folder, `table` gathers their points, `terminal` and
`page` show them. Every combination is an ordinary run, whose target or method says what was set.
"""

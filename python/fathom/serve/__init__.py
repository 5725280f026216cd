"""`fathom serve`: runs, those that go on too, reports and comparisons as pages of a web server on this machine.

It reads run directories, writes tags and notes beside them, and starts runs of twins as processes. A team's store is
only read. Read `app` for the pages, `source` for where runs come from, `access` for who may see them, `starts` for what
may be started.
"""

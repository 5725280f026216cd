"""How text leaves Fathom: figures with units, tables, the terminal, files. The one place that formats for people."""

"""The columns of a run's tables: what each is, and how rows become one."""

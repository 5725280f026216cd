"""Jobs made from traces: what a trace is like in the words of a job, and how near that comes on a twin."""

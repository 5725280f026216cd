"""A method as Python sees it: its steps, curves, offered loads and rounds. Rust parses it. Touches nothing."""

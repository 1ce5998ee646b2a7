"""Our own speed, over time."""

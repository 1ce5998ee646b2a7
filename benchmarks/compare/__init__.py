"""Against other libraries, at equal quality."""

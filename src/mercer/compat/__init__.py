"""Other libraries' interfaces to mercer's machines."""

"""From what was observed to what the status says. Pure: time is an argument."""

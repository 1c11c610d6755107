"""From what is wanted and what was observed to what is to be done. Pure: no client, no clock."""

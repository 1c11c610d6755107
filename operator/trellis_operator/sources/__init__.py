"""Where models come from, brought to a folder on this machine. Never knows a manifest's other fields."""

"""From a spec to the objects that it becomes in a cluster. Pure: no client, no clock, nothing that was observed."""

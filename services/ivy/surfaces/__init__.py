"""The routes of the gateway, a file for each surface, and the registry that lists them."""

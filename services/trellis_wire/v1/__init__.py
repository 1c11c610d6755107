"""Version 1 of the wire: generated modules, and the packing of ragged ids and rows as bytes."""

"""What pooled rows go through before they are cut, normalised and quantised."""

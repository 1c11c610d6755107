"""WordPiece and Unigram in C++: the ids of the library, sooner. `choice` is the door to it."""

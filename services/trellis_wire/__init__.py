"""What Ivy and Tulip share: the gRPC contract and the packing of ids and vectors. Knows no program."""

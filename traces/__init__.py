"""The captures, and the lab that records them."""

"""One module per output format; each turns a Report into text."""

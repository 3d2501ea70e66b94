"""Measures scapscope against sysdig, pigz and the bare reading of bytes, on captures it writes itself."""

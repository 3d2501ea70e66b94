"""The trace lab: records the captures of traces/ on real kernels, in a virtual machine anyone can build."""

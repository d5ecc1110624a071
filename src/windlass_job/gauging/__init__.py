"""Beside the command, on every node: what GPUs, cores, memory and disks do, a short row every few seconds.

A process of its own: what a driver's library does wrong, or a file system that hangs, must not take the agent along.
"""

"""Keeps builds and engines away from the network and from everything on the machine but themselves.

The launcher is a small child of our own that makes the namespaces and then starts the program: it
imports the standard library alone, and only the modules of this package that it needs.
"""

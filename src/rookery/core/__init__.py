"""What Rookery decides: pure values and rules, standard library alone.

The contract is how the fishtest server behaves towards its workers, which Rookery keeps to;
docs/protocol.md and docs/scheduling.md say what it is and where Rookery departs from it.
"""

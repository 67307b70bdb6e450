"""What Rookery decides: pure values and rules, standard library alone.

Numbers such as "contract 8.3" point into the description of the fishtest server's behaviour that
Rookery keeps to; docs/scheduling.md says where it departs from it.
"""

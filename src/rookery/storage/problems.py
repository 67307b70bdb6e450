"""What can be wrong with the database, as classes whose docstring is the sentence people read."""

from rookery.core.complaint import Complaint
from rookery.core.fault import Fault


class Problem(Fault, Complaint):
    """Something is wrong with the database."""

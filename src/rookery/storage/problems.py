"""What can be wrong with the database, as classes whose docstring is the sentence people read."""

from rookery.core.complaint import Complaint


class Problem(Complaint):
    """Something is wrong with the database."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        sentence = " ".join((type(self).__doc__ or type(self).__name__).split())
        super().__init__(sentence.format(**fields))

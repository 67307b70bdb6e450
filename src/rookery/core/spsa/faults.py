"""What can be wrong with the description of a tune; each class's docstring is its message."""

from rookery.core.complaint import Complaint
from rookery.core.fault import Fault


class SpsaFault(Fault, Complaint):
    """the tune cannot be set up"""

    exit_code = 2


class NoParameters(SpsaFault):
    """there is no parameter line"""


class TooManyParameters(SpsaFault):
    """there are {found} parameter lines, at most {limit} are allowed"""


class WrongFieldCount(SpsaFault):
    """line {line}: {found} fields; 6 are wanted (name,start,min,max,c_end,r_end) or 7 with int or float after the name"""  # noqa: E501 - one message


class BadName(SpsaFault):
    """line {line}: {name!r} is no option name"""


class RepeatedName(SpsaFault):
    """line {line}: {name} is named twice"""


class BadKind(SpsaFault):
    """line {line}: the type of {name} is {found!r}, but must be int or float"""


class BadNumber(SpsaFault):
    """line {line}: {field} of {name} is {found!r}, not a number within ±{limit:g}"""


class OutOfBounds(SpsaFault):
    """line {line}: {field} of {name} is {found:g}, but must lie within {low:g} and {high:g}"""


class EmptyRange(SpsaFault):
    """line {line}: no value of {name} lies within {low:g} and {high:g}"""


class BadSetting(SpsaFault):
    """{field} is {found:g}, but must lie within {low:g} and {high:g}"""


class WrongDrawSize(SpsaFault):
    """the draw holds {found} values, {wanted} are wanted"""


class SpacedName(SpsaFault):
    """{name!r} holds a space and cannot be written as Name=Value"""

from ..assessment.flat import Figure as Figure
from ..assessment.flat import figures as figures
from .gate import Check as Check
from .gate import Outcome as Outcome
from .gate import check as check
from .requirements import Requirement as Requirement

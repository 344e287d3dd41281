from .changes import changes_of_pairs as changes_of_pairs
from .changes import changes_of_samples as changes_of_samples
from .flat import Figure as Figure
from .flat import figures as figures
from .gate import Check as Check
from .gate import Outcome as Outcome
from .gate import check as check
from .requirements import Requirement as Requirement

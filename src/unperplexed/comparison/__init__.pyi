from .result import Comparison as Comparison
from .result import Contributions as Contributions
from .result import Difference as Difference
from .result import Forecaster as Forecaster
from .result import MeanScore as MeanScore
from .result import PairedComparison as PairedComparison
from .sequential import SequentialComparison as SequentialComparison

from .gain import Gain as Gain
from .group_recalibrator import GroupRecalibrator as GroupRecalibrator
from .pool_result import HeldOut as HeldOut
from .pool_result import Pool as Pool

from .gain import Gain as Gain
from .pool_result import HeldOut as HeldOut
from .pool_result import Pool as Pool

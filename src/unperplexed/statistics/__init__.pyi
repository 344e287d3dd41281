from .intervals import Band as Band
from .intervals import Interval as Interval
from .means import Averages as Averages
from .means import coupling_from_order as coupling_from_order
from .means import generalized_mean as generalized_mean
from .means import log_std_factor as log_std_factor
from .means import order_from_coupling as order_from_coupling
from .means import suggested_floor as suggested_floor

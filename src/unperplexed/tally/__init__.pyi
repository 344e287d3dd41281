from .surprises import SurpriseTable as SurpriseTable

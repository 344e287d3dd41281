from .forecasts import Notes as Notes

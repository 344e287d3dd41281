"""Where models are trained and selected: one module for each library, which is imported only when the module is."""

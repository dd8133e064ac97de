"""Maps of where people click: the published model, its training, and simple ones to compare with."""

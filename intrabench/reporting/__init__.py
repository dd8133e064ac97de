"""Tables, figures, the HTML report, published numbers to compare with, drawings of a scan."""

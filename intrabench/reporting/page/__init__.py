"""One HTML file that shows a results folder."""

"""What a paper must say of a results folder: paragraphs on the methods, a checklist, and the citations."""

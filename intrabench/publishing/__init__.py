"""Results for others: `board` (submissions, their check, the static site), `exports` (a file per format), `methods`
(the methods of a paper).
"""

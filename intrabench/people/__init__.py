"""Pages for people and what comes of them: blind ratings, sessions of people, first clicks, recordings of
other programs, calibrations, people beside simulated users; `servers` is what all servers share, and serves models to
clients of nnInteractive.
"""

"""DAVIS Interactive: its metrics, robot, summary and session (Caelles et al., arXiv:1803.00557), written anew."""
